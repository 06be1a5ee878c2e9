"""Writes findings as SARIF 2.1.0, the input format of GitHub's code scanning.

GitHub shows a finding beside its line and closes it when it is gone. It recognises a finding by its
fingerprint, made of rule, resource and sentence, so a finding whose line moves stays the same one.
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from os.path import relpath
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from policies.language.rule import Level
from policies.verdicts import Finding, State, Verdict

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
SarifLevel = Literal["error", "warning", "note"]
RULE_LEVELS: Mapping[Level, SarifLevel] = {
    "mandatory": "error",
    "advisory": "warning",
    "disabled": "note",
}
LEVELS: Mapping[State, SarifLevel] = {
    "violated": "error",
    "advisory": "warning",
    "exempt": "note",
    "not checked": "note",
}
Place = tuple[str, int]
"""A file below the current folder, the root of the checkout, and a line that counts from 1."""


def document(
    verdicts: Iterable[Verdict],
    place: Callable[[Finding], Place],
    unreadable: Sequence[str] = (),
    unjudged: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns a SARIF log with one run, which lists each rule with findings once.

    Unreadable input marks the run as failed, so that no earlier finding counts as fixed. What could
    not be judged is a note of the run.
    """
    broken = sorted((one for one in verdicts if one.findings), key=lambda one: one.rule)
    results = [
        _result(sentence, finding, place(finding), index)
        for index, verdict in enumerate(broken)
        for finding in verdict.findings
        for sentence in finding.sentences
    ]
    driver = {
        "name": "gpu-fleet",
        "version": version("gpu-fleet"),
        "rules": [_rule(verdict) for verdict in broken],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(unreadable, unjudged)],
        "results": sorted(results, key=_order),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _order(result: Mapping[str, Any]) -> tuple[str, int, str, str]:
    """Returns the sort key: file, line, rule and sentence."""
    where = result["locations"][0]["physicalLocation"]
    file, line = where["artifactLocation"]["uri"], where["region"]["startLine"]
    return file, line, result["ruleId"], result["message"]["text"]


def _invocation(unreadable: Sequence[str], unjudged: Sequence[str]) -> dict[str, Any]:
    told = [
        {"level": level, "message": {"text": sentence}}
        for level, sentences in (("error", unreadable), ("note", unjudged))
        for sentence in sentences
    ]
    return {"executionSuccessful": not unreadable, "toolExecutionNotifications": told}


def _rule(rule: Verdict) -> dict[str, Any]:
    return {
        "id": rule.rule,
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": rule.why},
        "help": {
            "text": f"{rule.sentence} {rule.why} {rule.source}",
            "markdown": f"{rule.sentence}\n\n{rule.why}\n\n[Source]({rule.source})",
        },
        "helpUri": rule.source,
        "defaultConfiguration": {"level": RULE_LEVELS[rule.level]},
        "properties": {"tags": [rule.rule.partition("/")[0]]},
    }


def _result(sentence: str, finding: Finding, place: Place, index: int) -> dict[str, Any]:
    file, line = place
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(file), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line},
        }
    }
    resource = finding.resource.path if finding.resource else ""
    if resource:
        location["logicalLocations"] = [{"fullyQualifiedName": resource, "kind": "resource"}]
    fingerprint = sha256("\0".join((finding.rule, resource, sentence)).encode())
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": LEVELS[finding.state],
        "message": {"text": sentence},
        "locations": [location],
        "partialFingerprints": {"gpuFleet/v1": fingerprint.hexdigest()},
        **_suppressed(finding),
    }


def _suppressed(finding: Finding) -> dict[str, Any]:
    """Returns the exemption that makes the finding non-blocking."""
    exemption = finding.exemption
    if exemption is None or finding.state != "exempt":
        return {}
    why = f"{exemption.owner}: {exemption.reason}"
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": why}]}


def _uri(file: str) -> str:
    """Returns the path in the form that code scanning matches with the checkout."""
    return quote(Path(relpath(file)).as_posix())
