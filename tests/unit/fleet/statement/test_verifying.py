"""Which statements are taken for an update, and what is said of the others."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from fleet.statement.envelope import EncryptedKeyError, StatementError, sign
from fleet.statement.verifying import Wanted, verify
from rehearsal.statement import PREDICATE, STATEMENT

COMMIT = "1f" * 20
PRIVATE = ed25519.Ed25519PrivateKey.generate()
OTHER = ed25519.Ed25519PrivateKey.generate()


def pem(key: Any, passphrase: str | None = None) -> bytes:
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    found: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return found


def public(key: Any) -> str:
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


@pytest.fixture
def wanted(tmp_path: Path) -> Wanted:
    stack_file = tmp_path / "Pulumi.prod.yaml"
    stack_file.write_text("config: {}\n")
    return Wanted(
        environment="prod",
        commit=COMMIT,
        stack_file=stack_file,
        keys={"platform": public(PRIVATE)},
    )


@pytest.fixture
def stated(wanted: Wanted) -> dict[str, Any]:
    digest = sha256(wanted.stack_file.read_bytes()).hexdigest()
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": "commit", "digest": {"gitCommit": COMMIT}},
            {"name": "stacks/Pulumi.prod.yaml", "digest": {"sha256": digest}},
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "environment": "prod",
            "dirty": False,
            "passed": True,
            "problems": [],
            "rules": {"isolation/rbac-wildcards": "held"},
            "notRehearsed": ["chart kured 6.0.0: recorded, not installed"],
        },
    }


def signed(statement: dict[str, Any], key: Any = PRIVATE) -> str:
    return json.dumps(sign(json.dumps(statement).encode(), pem(key), None))


def refusal(text: str, wanted: Wanted) -> tuple[str, ...]:
    with pytest.raises(StatementError) as caught:
        verify(text, wanted)
    return caught.value.reasons


@pytest.mark.parametrize(
    "key",
    [
        PRIVATE,
        ec.generate_private_key(ec.SECP256R1()),
        rsa.generate_private_key(public_exponent=65537, key_size=2048),
    ],
    ids=["ed25519", "ecdsa", "rsa"],
)
def test_what_a_listed_key_has_signed_about_this_commit_is_taken(
    stated: dict[str, Any], wanted: Wanted, key: Any
) -> None:
    keys = {"retired": public(OTHER), "platform": public(key)}
    found = verify(signed(stated, key), replace(wanted, keys=keys))
    assert (found.signed_by, found.predicate) == ("platform", stated["predicate"])


def test_an_unsigned_one_is_taken_from_the_same_workflow_run_alone(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    text = json.dumps(stated)
    assert verify(text, replace(wanted, from_this_run=True)).signed_by is None
    (sentence,) = refusal(text, wanted)
    assert sentence.startswith("The statement is not signed.")
    assert sentence.endswith("signed by a key of gpu-fleet:rehearsal.keys: platform.")


def test_a_key_that_is_not_listed_is_told_with_those_that_are(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    (sentence,) = refusal(signed(stated, OTHER), wanted)
    assert "by no listed key: platform (" in sentence
    (sentence,) = refusal(signed(stated), replace(wanted, keys={}))
    assert sentence.endswith("by no listed key: gpu-fleet:rehearsal.keys has none.")


def test_one_that_was_altered_after_it_was_signed_is_refused(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    envelope = json.loads(signed({**stated, "predicate": {"passed": False}}))
    envelope["payload"] = base64.b64encode(json.dumps(stated).encode()).decode()
    for run in (False, True):
        (sentence,) = refusal(json.dumps(envelope), replace(wanted, from_this_run=run))
        assert "The signature of the key platform does not fit" in sentence


def test_one_with_the_key_id_of_another_is_a_forgery(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    envelope, theirs = json.loads(signed(stated, OTHER)), json.loads(signed(stated))
    envelope["signatures"][0]["keyid"] = theirs["signatures"][0]["keyid"]
    (sentence,) = refusal(json.dumps(envelope), wanted)
    assert "The signature of the key platform does not fit" in sentence
    envelope["signatures"] = []
    (sentence,) = refusal(json.dumps(envelope), wanted)
    assert "It is signed by nobody" in sentence


def test_another_content_that_the_key_has_signed_is_no_statement(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    envelope = json.loads(signed(stated))
    envelope["payloadType"] = "text/plain"
    (sentence,) = refusal(json.dumps(envelope), wanted)
    assert sentence.startswith('The envelope holds "text/plain"')
    (sentence,) = refusal(signed({**stated, "predicateType": "https://slsa.dev/x"}), wanted)
    assert "of the type" in sentence
    assert refusal("{", wanted) == ("The statement is not JSON.",)
    (sentence,) = refusal('{"payload": 1}', wanted)
    assert sentence.startswith("The envelope of the statement cannot be read")


def of_another_commit(stated: dict[str, Any]) -> None:
    stated["subject"][0]["digest"]["gitCommit"] = "2e" * 20


def without_git(stated: dict[str, Any]) -> None:
    del stated["subject"][0]


def of_old_settings(stated: dict[str, Any]) -> None:
    stated["subject"][1]["digest"]["sha256"] = "ab" * 32


def dirty(stated: dict[str, Any]) -> None:
    stated["predicate"]["dirty"] = True


def unknown_whether_dirty(stated: dict[str, Any]) -> None:
    del stated["predicate"]["dirty"]


def of_dev(stated: dict[str, Any]) -> None:
    stated["predicate"]["environment"] = "dev"


def failed(stated: dict[str, Any]) -> None:
    broken = {"passed": False, "problems": ["A port is open."], "rules": {"a/b": "violated"}}
    stated["predicate"] |= broken


NOT_OF_A_COMMIT = "It was made in a checkout with changes that no commit has."


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        (of_another_commit, [f"It was made for commit {'2e' * 20}, and {COMMIT} is wanted."]),
        (without_git, [f"without a commit, as there was no git, and {COMMIT} is wanted."]),
        (of_old_settings, ["stacks/Pulumi.prod.yaml had the sha256 abababababab when"]),
        (dirty, [NOT_OF_A_COMMIT]),
        (unknown_whether_dirty, [NOT_OF_A_COMMIT]),
        (of_dev, ["It is about dev, and prod is wanted."]),
        (failed, ["The rehearsal failed: A port is open.", "Rules that it broke: a/b."]),
    ],
)
def test_what_is_signed_and_does_not_fit_is_refused_with_every_reason(
    stated: dict[str, Any],
    wanted: Wanted,
    change: Callable[[dict[str, Any]], None],
    reasons: list[str],
) -> None:
    change(stated)
    found = refusal(signed(stated), wanted)
    assert len(found) == len(reasons)
    assert all(reason in told for reason, told in zip(reasons, found, strict=True))
    assert refusal(json.dumps(stated), replace(wanted, from_this_run=True)) == found


def test_a_key_is_opened_by_its_passphrase_alone(stated: dict[str, Any], wanted: Wanted) -> None:
    text, key = json.dumps(stated).encode(), pem(PRIVATE, "hunter2")
    assert verify(json.dumps(sign(text, key, "hunter2")), wanted).signed_by == "platform"
    for passphrase, reason in ((None, "there is no passphrase"), ("other", "does not open")):
        with pytest.raises(EncryptedKeyError, match=reason):
            sign(text, key, passphrase)
    with pytest.raises(
        StatementError, match=r"The key cannot be read; allowed: the private half of an"
    ):
        sign(text, b"-----BEGIN", None)


def test_a_listed_key_that_is_none_is_named(stated: dict[str, Any], wanted: Wanted) -> None:
    keys = {"broken": base64.b64encode(b"0" * 44).decode()}
    _, sentence = refusal(signed(stated), replace(wanted, keys=keys))
    assert sentence.startswith("gpu-fleet:rehearsal.keys.broken cannot be read")


def test_a_listed_key_that_is_none_keeps_no_other_from_vouching(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    keys = {"broken": base64.b64encode(b"0" * 44).decode(), **wanted.keys}
    assert verify(signed(stated), replace(wanted, keys=keys)).signed_by == "platform"


def test_a_passphrase_for_a_key_that_needs_none_is_no_harm(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    text = json.dumps(sign(json.dumps(stated).encode(), pem(PRIVATE), "needless"))
    assert verify(text, wanted).signed_by == "platform"


def test_what_a_key_has_signed_in_another_form_is_refused_in_a_sentence(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    for payload in (b"{", b"\xff", b"[1]", b"5", b"null", b"{}", b'{"a": 1}'):
        (sentence,) = refusal(json.dumps(sign(payload, pem(PRIVATE), None)), wanted)
        assert sentence.startswith(("The statement is ", "This is no statement"))
        assert "object is not" not in sentence, "words of Python"
        assert "Available Fields" not in sentence, "words of a library"
    stated["predicate"] |= {"passed": False, "rules": [], "problems": 3}
    assert refusal(signed(stated), wanted) == (
        "The statement's problems is 3; allowed: a list of sentences.",
        "The statement's rules is []; allowed: a mapping from rules to their states.",
    )


def test_one_that_passed_and_names_what_it_failed_for_vouches_for_nothing(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    stated["predicate"] |= {"rules": {"idle/spot": "violated"}, "problems": []}
    assert refusal(signed(stated), wanted) == (
        "It says that the rehearsal passed, and names problems or broken rules.",
        "Rules that it broke: idle/spot.",
    )
    stated["predicate"] |= {"rules": {"idle/spot": [1]}}
    (sentence,) = refusal(signed(stated), wanted)
    assert sentence.startswith("The statement's rules is ")


def test_one_that_names_no_stack_file_is_refused_in_words(
    stated: dict[str, Any], wanted: Wanted
) -> None:
    del stated["subject"][1]
    assert refusal(signed(stated), wanted) == (
        "It does not say which stacks/Pulumi.prod.yaml was rehearsed.",
    )


@pytest.mark.parametrize(
    "part",
    [{"signatures": None}, {"signatures": [1]}, {"payloadType": None}, {"payload": None}, {}],
)
def test_an_envelope_of_another_form_is_told_without_words_of_python(
    stated: dict[str, Any], wanted: Wanted, part: dict[str, Any]
) -> None:
    envelope = {**json.loads(signed(stated)), **part}
    if not part:
        del envelope["payloadType"]
    (sentence,) = refusal(json.dumps(envelope), wanted)
    assert sentence.startswith(
        ("The envelope of the statement cannot", 'The envelope holds "None"')
    )
