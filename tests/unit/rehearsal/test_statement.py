"""The statement of a rehearsal: in-toto's form, and which commit it is about."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf.json_format import (  # type: ignore[import-untyped]  # ships no types
    MessageToDict,
    ParseDict,
)
from in_toto_attestation.v1.statement import Statement  # type: ignore[import-untyped]  # no types
from in_toto_attestation.v1.statement_pb2 import (  # type: ignore[import-untyped]  # no types
    Statement as StatementMessage,
)

from rehearsal import source
from rehearsal.errors import RehearsalError
from rehearsal.report import Report
from rehearsal.source import Source
from rehearsal.statement import check_form, statement
from tests.support.rehearsal.checkouts import committed, git

GOLDEN = Path(__file__).with_name("golden") / "statement.json"
AT = Source(commit="4" * 40, dirty=False)


@pytest.fixture
def ended(whole: Report) -> Report:
    return replace(whole, stack_file_sha256="5" * 64, ended="2026-11-23T01:26:18+00:00")


def test_it_has_the_form_of_in_toto_and_says_what_was_and_was_not_rehearsed(
    ended: Report,
) -> None:
    made = statement(ended, AT, {"kubernetes": "1.34.1", "kwok": "0.8.0"})
    rules = made["predicate"]["rules"]
    assert len(rules) > 50
    assert set(rules.values()) == {"held"}
    shown = {**made, "predicate": {**made["predicate"], "rules": dict([*rules.items()][:2])}}
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(shown, indent=1) + "\n")
    assert shown == json.loads(GOLDEN.read_text())
    message = ParseDict(made, StatementMessage())
    Statement.copy_from_pb(message).validate()
    assert MessageToDict(message) == made, "in-toto's own types lose nothing of it"


def test_a_failed_rehearsal_says_so_and_why(ended: Report) -> None:
    made = statement(ended.failed("The disk is full."), AT, {})
    assert made["predicate"]["passed"] is False
    assert made["predicate"]["problems"] == ["The disk is full."]


def test_without_git_it_is_about_the_stack_file_alone(ended: Report, tmp_path: Path) -> None:
    found = source.read(tmp_path)
    assert found == Source(commit=None, dirty=True)
    (subject,) = statement(ended, found, {})["subject"]
    assert subject == {"name": "stacks/Pulumi.dev.yaml", "digest": {"sha256": "5" * 64}}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"_type": "https://in-toto.io/Statement/v0.1"}, "Wrong statement type"),
        ({"subject": []}, "At least one subject required"),
        ({"subject": [{"name": "commit"}]}, "At least one digest required"),
        ({"predicateType": "https://slsa.dev/provenance/v1"}, "slsa.dev/provenance/v1"),
        ({"predicate": {}}, "Predicate object required"),
        ({"more": 1}, 'no field named "more"'),
    ],
)
def test_another_form_is_refused_with_what_is_wrong(
    ended: Report, changed: dict[str, object], reason: str
) -> None:
    with pytest.raises(RehearsalError, match=reason):
        check_form({**statement(ended, AT, {}), **changed})


def test_a_source_is_its_commit_and_dirty_when_any_file_differs(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / ".gitignore").write_text("ignored\n")
    commit = committed(tmp_path)
    (tmp_path / "ignored").write_text("1")
    clean = source.read(tmp_path)
    assert clean == Source(commit=commit, dirty=False)
    assert source.since(clean, tmp_path) == clean
    (tmp_path / "unknown").write_text("1")
    assert source.read(tmp_path).dirty
    (tmp_path / "unknown").unlink()
    (tmp_path / "a").write_text("2")
    assert source.since(clean, tmp_path) == Source(commit=commit, dirty=True)
    git(tmp_path, "commit", "--all", "--quiet", "--message", "Meanwhile")
    assert source.since(clean, tmp_path) == Source(commit=commit, dirty=True), "it has moved"
