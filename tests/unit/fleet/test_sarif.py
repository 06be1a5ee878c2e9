"""Findings as code scanning reads them: https://docs.oasis-open.org/sarif/sarif/v2.1.0/."""

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fleet.sarif import document
from policies.configuration import Exemption, configure
from policies.rules import ALL
from policies.rules.idle.gpu_node_pool import RULE as NODE_POOL
from policies.rules.numa.guaranteed_qos import RULE as QOS
from policies.verdicts import Finding, Resource, verdicts


def one(
    *, file: str = "stacks/Pulumi.dev.yaml", line: int = 31, name: str = "burst", **changed: Any
) -> Finding:
    said = {
        "rule": NODE_POOL.id,
        "level": "mandatory",
        "state": "violated",
        "sentences": ("NodePool 'burst' must set spec.limits.nvidia.com/gpu.",),
        "resource": Resource(kind="NodePool", name=name, file=file, line=line),
    }
    return Finding(**{**said, **changed})


def place(finding: Finding) -> tuple[str, int]:
    assert finding.resource
    return finding.resource.file, finding.resource.line


def run(*findings: Finding, unreadable: Sequence[str] = ()) -> dict[str, Any]:
    found = document(verdicts(configure({}, ALL), findings), place, unreadable)
    assert json.loads(json.dumps(found)) == found
    assert found["version"] == "2.1.0"
    (only,) = found["runs"]
    return dict(only)


def test_a_finding_names_its_rule_its_line_and_its_resource() -> None:
    (result,) = run(one())["results"]
    assert (result["ruleId"], result["level"]) == ("idle/gpu-node-pool", "error")
    assert result["message"] == {"text": "NodePool 'burst' must set spec.limits.nvidia.com/gpu."}
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "stacks/Pulumi.dev.yaml"
    assert place["physicalLocation"]["region"] == {"startLine": 31}
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "NodePool/burst"


def test_each_rule_is_described_once_and_found_by_its_index() -> None:
    told = run(one(), one(rule=QOS.id, line=2), one(name="other"))
    rules = told["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["idle/gpu-node-pool", "numa/guaranteed-qos"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in told["results"])
    assert rules[0]["shortDescription"]["text"] == NODE_POOL.sentence
    assert rules[0]["helpUri"] == NODE_POOL.source


def test_a_finding_on_another_line_is_the_same_finding() -> None:
    def fingerprint(result: Finding) -> object:
        return run(result)["results"][0]["partialFingerprints"]

    assert fingerprint(one()) == fingerprint(one(line=90))
    assert fingerprint(one()) != fingerprint(one(name="other"))


def test_a_finding_under_an_exemption_is_accepted_with_its_reason() -> None:
    exemption = Exemption(
        resource="NodePool/burst",
        owner="research",
        reason="long warm-up",
        until=date(2027, 1, 31),
    )
    plain, ended, exempt = run(
        one(), one(exemption=exemption, line=32), one(state="exempt", exemption=exemption, line=99)
    )["results"]
    assert "suppressions" not in plain
    assert "suppressions" not in ended
    (accepted,) = exempt["suppressions"]
    assert accepted["status"] == "accepted"
    assert accepted["justification"] == "research: long warm-up"


def test_nothing_found_is_a_run_without_results() -> None:
    assert run()["results"] == []


def test_a_run_that_could_not_read_all_says_so() -> None:
    (whole,) = run(one())["invocations"]
    (part,) = run(unreadable=["a.yaml:3: it is no YAML."])["invocations"]

    assert whole["executionSuccessful"] is True
    assert part["executionSuccessful"] is False
    (told,) = part["toolExecutionNotifications"]
    assert (told["level"], told["message"]["text"]) == ("error", "a.yaml:3: it is no YAML.")


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("my apps/pod#1.yaml", "my%20apps/pod%231.yaml"),
        ("{here}/a/b.yaml", "a/b.yaml"),
        ("./a/../b.yaml", "b.yaml"),
        ("-", "-"),
    ],
)
def test_a_place_is_an_address_below_the_checkout(file: str, uri: str) -> None:
    (result,) = run(one(file=file.format(here=Path.cwd())))["results"]

    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
