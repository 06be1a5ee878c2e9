"""Our transpiler beside the real Butane: equal output, equal verdicts, valid Ignition."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ignition.butane import ButaneError, transpile
from ignition.butane.schema import ListOf, Struct
from ignition.butane.schema import document as schema
from ignition.write.render import tuning_butane, tuning_ignition
from tests.support.butane_reference import reference
from tests.support.ignition.nodes import PURPOSE_OF, node, user_data

CASES: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "butane_cases.yaml").read_text()
)
VERSIONS = ("1.0.0", "1.1.0")
SCALARS = (
    *("1", "0644", "644", "0o644", "0x1F", "0b101", "+5", "-5", "1_000", "_1", "08", "1e3", "1.0"),
    *("0o8", "tRUE", "yes", "'yes'", "true", "'true'", "y", "OFF", "'N'", "~", "", "null", "NULL"),
    *(
        "'420'",
        '"0"',
        "2020-01-01",
        "[a]",
        "{a: b}",
        "1:20",
        ".inf",
        "9223372036854775808",
        "=",
        "é",
    ),
)
PLACES = {
    "an integer": "storage: {files: [{path: /a, mode: %s}]}",
    "a boolean": "systemd:\n  units:\n    - name: a.service\n      mask: %s",
    "a string": "passwd:\n  users:\n    - name: a\n      shell: %s",
    "a required string": "passwd:\n  users:\n    - name: %s",
    "an item": "kernel_arguments:\n  should_exist:\n    - %s",
    "a list": "storage:\n  files: %s",
    "a mapping": "storage: %s",
}


def document(body: str, version: str = "1.1.0") -> str:
    """A case with its first two lines; a case in one line of flow style is a mapping of its own."""
    if body.startswith("{"):
        body = yaml.safe_dump(yaml.safe_load(body))
    return f"variant: flatcar\nversion: {version}\n{body}\n"


def ours(source: str) -> dict[str, Any] | None:
    """What our transpiler makes of a document, None where it refuses."""
    try:
        return transpile(source)
    except ButaneError:
        return None


def ordered(config: dict[str, Any] | None) -> str:
    """A config as text, keys in the order in which they stand."""
    return json.dumps(config)


@pytest.mark.parametrize("name", PURPOSE_OF)
def test_rendered_boot_data_is_what_butane_makes_of_it(name: str) -> None:
    source = tuning_butane(node(name))
    assert ordered(json.loads(tuning_ignition(node(name)))) == ordered(
        reference().transpile(source)
    )


@pytest.mark.parametrize("name", PURPOSE_OF)
def test_rendered_boot_data_is_valid_for_ignition(name: str) -> None:
    assert reference().validate(tuning_ignition(node(name))) == ""
    assert reference().validate(user_data(node(name))) == ""


@pytest.mark.parametrize("case", CASES["accepted"])
def test_an_accepted_document_becomes_the_same_config(case: str) -> None:
    source = document(CASES["accepted"][case])
    config = reference().transpile(source)
    assert config is not None, reference().report(source)
    assert ordered(ours(source)) == ordered(config)
    assert reference().validate(json.dumps(ours(source))) == ""


@pytest.mark.parametrize("case", CASES["refused"])
def test_a_refused_document_is_refused_by_both(case: str) -> None:
    says, body = CASES["refused"][case]
    source = document(body)
    assert reference().transpile(source) is None
    with pytest.raises(ButaneError) as caught:
        transpile(source)
    assert says in str(caught.value)


@pytest.mark.parametrize("case", CASES["accepted"])
def test_the_older_version_has_the_same_verdict_on_every_document(case: str) -> None:
    source = document(CASES["accepted"][case], "1.0.0")
    assert ordered(ours(source)) == ordered(reference().transpile(source))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("scalar", SCALARS)
def test_a_scalar_is_read_as_butane_reads_it(place: str, scalar: str) -> None:
    source = document(PLACES[place] % scalar)
    assert ordered(ours(source)) == ordered(reference().transpile(source))


@pytest.mark.parametrize(
    "header",
    [
        "variant: flatcar\nversion: 1.2.0-experimental\n",
        "variant: flatcar\nversion: 1.1\n",
        "variant: flatcar\n",
        "version: 1.1.0\n",
        "variant: fedora\nversion: 1.1.0\n",
        "variant:\nversion: 1.1.0\n",
        "",
        "[]",
        "flatcar",
    ],
)
def test_a_document_of_no_known_version_is_refused_by_both(header: str) -> None:
    if "experimental" not in header:  # Butane knows it; nothing that boots does
        assert reference().transpile(header) is None
    assert ours(header) is None


def test_the_accepted_documents_have_every_key() -> None:
    whole = schema("1.1.0")
    given: set[tuple[str, str]] = set()
    for body in CASES["accepted"].values():
        given |= keys_of(yaml.safe_load(document(body)), whole)
    missing = keys_known(whole) - given
    assert {key for key in missing if "local" not in key[1] and "tree" not in "".join(key)} == set()


def keys_known(kind: object) -> set[tuple[str, str]]:
    """Each key of the schema with the kind of object that has it."""
    if isinstance(kind, ListOf):
        return keys_known(kind.item)
    if not isinstance(kind, Struct):
        return set()
    own = {(kind.kind, name) for name in kind.fields}
    return own.union(*(keys_known(field.type) for field in kind.fields.values()))


def keys_of(value: Any, kind: object) -> set[tuple[str, str]]:
    """Each key that a document gives, with the kind of object that has it."""
    if isinstance(kind, ListOf):
        return set().union(*(keys_of(item, kind.item) for item in value or ()))
    if not isinstance(kind, Struct):
        return set()
    return {(kind.kind, name) for name in value}.union(
        *(keys_of(child, kind.fields[name].type) for name, child in value.items())
    )
