"""What the rules found, as SARIF 2.1.0: the form in which code scanning takes findings.

GitHub shows a finding beside its line and closes it when it is gone. It knows it again by its
fingerprint, which is made of rule, resource and sentence, so that a line that moves is no new one.
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from policies.language.rule import Level, Rule

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
SarifLevel = Literal["error", "warning", "note"]
LEVELS: dict[Level, SarifLevel] = {"mandatory": "error", "advisory": "warning", "disabled": "note"}


@dataclass(frozen=True, kw_only=True)
class Result:
    """One sentence that a rule says, and where.

    `file` is below the current folder, the root of the checkout; `line` counts from 1. `resource`
    is the object's kind and name, such as `NodePool/burst`. `leave` is the reason of an exemption
    that holds: the finding then stops nothing.
    """

    rule: Rule
    sentence: str
    level: SarifLevel
    file: str
    line: int = 1
    resource: str = ""
    leave: str = ""


def document(results: Iterable[Result], unreadable: Sequence[str] = ()) -> dict[str, Any]:
    """A SARIF log with one run, which names each rule that found something once.

    What could not be read makes it a run that failed: no finding of it is gone for all that.
    """
    found = sorted(results, key=lambda one: (one.file, one.line, one.rule.id, one.sentence))
    rules = {one.rule.id: one.rule for one in found}
    order = {rule_id: index for index, rule_id in enumerate(sorted(rules))}
    driver = {
        "name": "gpu-fleet",
        "version": version("gpu-fleet"),
        "rules": [_rule(rules[rule_id]) for rule_id in order],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(unreadable)],
        "results": [_result(one, order[one.rule.id]) for one in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(unreadable: Sequence[str]) -> dict[str, Any]:
    told = [{"level": "error", "message": {"text": sentence}} for sentence in unreadable]
    return {"executionSuccessful": not told, "toolExecutionNotifications": told}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": rule.why},
        "help": {
            "text": f"{rule.sentence} {rule.why} {rule.source}",
            "markdown": f"{rule.sentence}\n\n{rule.why}\n\n[Source]({rule.source})",
        },
        "helpUri": rule.source,
        "defaultConfiguration": {"level": LEVELS[rule.level]},
        "properties": {"tags": [rule.id.partition("/")[0]]},
    }


def _result(one: Result, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(one.file), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": one.line},
        }
    }
    if one.resource:
        place["logicalLocations"] = [{"fullyQualifiedName": one.resource, "kind": "resource"}]
    fingerprint = sha256("\0".join((one.rule.id, one.resource, one.sentence)).encode())
    written: dict[str, Any] = {
        "ruleId": one.rule.id,
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": one.sentence},
        "locations": [place],
        "partialFingerprints": {"gpuFleet/v1": fingerprint.hexdigest()},
    }
    if one.leave:
        accepted = {"kind": "external", "status": "accepted", "justification": one.leave}
        written["suppressions"] = [accepted]
    return written


def _uri(file: str) -> str:
    """A path as code scanning matches it with those of the checkout."""
    return quote(Path(relpath(file)).as_posix())
