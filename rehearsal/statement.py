"""A rehearsal as a statement in the form of in-toto: what was rehearsed, and what came of it.

Its subjects are the commit and the stack file, so whoever has both can say whether it is about
them. https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md has the form.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import (  # type: ignore[import-untyped]  # ships no types
    ParseDict,
    ParseError,
)
from in_toto_attestation.v1.statement import Statement  # type: ignore[import-untyped]  # no types
from in_toto_attestation.v1.statement_pb2 import (  # type: ignore[import-untyped]  # no types
    Statement as StatementMessage,
)

from rehearsal.errors import RehearsalError
from rehearsal.report import Report, not_rehearsed
from rehearsal.source import Source

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://fleet.gpu/rehearsal/v1"
"""A name, as in-toto asks for one; nothing is to be found there."""
COMMIT = "gitCommit"
"""The name of a commit's digest among in-toto's."""


def statement(report: Report, source: Source, versions: Mapping[str, str]) -> dict[str, Any]:
    """Returns the statement about a rehearsal that has ended; `versions` are those of programs."""
    commit = {"name": "commit", "digest": {COMMIT: source.commit}}
    settings = {
        "name": settings_name(report.environment),
        "digest": {"sha256": report.stack_file_sha256},
    }
    made = {
        "_type": STATEMENT,
        "subject": [*([commit] if source.commit else []), settings],
        "predicateType": PREDICATE,
        "predicate": {
            "environment": report.environment,
            "dirty": source.dirty,
            "passed": report.passed,
            "ended": report.ended,
            "problems": list(report.problems),
            "jobs": [
                {"kind": run.kind, "name": run.name, "outcome": run.outcome, "good": run.as_it_must}
                for run in (report.smoke.runs if report.smoke else ())
            ],
            "rules": {verdict.rule: verdict.state for verdict in report.verdicts},
            "phases": [{"name": each.name, "seconds": each.seconds} for each in report.phases],
            "versions": dict(sorted(versions.items())),
            "versionDifferences": [
                {"system": d.system, "environment": d.environment, "rehearsed": d.rehearsed}
                for d in report.version_differences
            ],
            "notRehearsed": list(not_rehearsed(report)),
            "assumed": list(report.taken_as_given),
        },
    }
    check_form(made)
    return made


def settings_name(environment: str) -> str:
    """Returns the name of the subject that is the stack file."""
    return f"stacks/Pulumi.{environment}.yaml"


def check_form(found: object) -> None:
    """Raises RehearsalError unless `found` is a statement of in-toto about a rehearsal."""
    if not isinstance(found, dict):
        raise RehearsalError(f"The statement is {str(found)[:60]}; allowed: an object of JSON.")
    try:
        message = ParseDict(found, StatementMessage())
        Statement.copy_from_pb(message).validate()
    except (ParseError, ValueError, AttributeError, TypeError) as error:
        told = str(error).partition(" Available Fields")[0].rstrip(".")
        raise RehearsalError(f"This is no statement in in-toto's form: {told}.") from None
    if message.predicate_type != PREDICATE:
        raise RehearsalError(
            f'This is a statement of the type "{message.predicate_type}"; a rehearsal\'s is '
            f'"{PREDICATE}".'
        )
