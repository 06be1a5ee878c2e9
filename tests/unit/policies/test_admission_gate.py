"""The policies at the API server: which rules stand in which, and what each of them carries."""

import json
from datetime import date
from typing import Any

import pytest

from policies.configuration import configure
from policies.gates.admission import Stage, manifests
from policies.rules import ALL
from tests.support.rule_facts import of, pool

TODAY = date(2026, 11, 21)
HELD = {rule.id for rule in ALL if rule.admission}
QOS = "numa/guaranteed-qos"
LEAVE = {"resource": "Job/train", "owner": "desk", "reason": "old", "namespace": "web"}


def policies(stage: Stage = "deny", **said: Any) -> dict[str, dict[str, Any]]:
    """The specs of the policies by name, for what is said of rules and facts."""
    settings = {key.replace("__", "/").replace("_", "-"): value for key, value in said.items()}
    found: list[Any] = manifests(configure(settings), stage=stage, today=TODAY)
    return {
        each["metadata"]["name"]: each["spec"] for each in found if "validations" in each["spec"]
    }


def rules(spec: dict[str, Any]) -> dict[str, str]:
    """The expressions of a policy by the rule whose sentence they say."""
    return {
        each["messageExpression"].partition(": ")[0].strip('"'): each["expression"]
        for each in spec["validations"]
    }


def test_each_pack_has_a_policy_that_refuses_and_one_that_warns_where_a_rule_is_advisory() -> None:
    found = policies(numa__guaranteed_qos={"level": "advisory"})

    assert set(found) == {
        *("fleet-cost", "fleet-idle", "fleet-isolation", "fleet-numa"),
        *("fleet-cost-warn", "fleet-idle-warn", "fleet-isolation-warn", "fleet-numa-warn"),
    }
    assert set(rules(found["fleet-numa-warn"])) == {QOS, "numa/gang-network"}
    assert sorted(rule for spec in found.values() for rule in rules(spec)) == sorted(HELD)


def test_in_audit_every_rule_only_warns() -> None:
    found = policies("audit")

    assert all(name.endswith("-warn") for name in found)
    assert {rule for spec in found.values() for rule in rules(spec)} == HELD


@pytest.mark.parametrize(("stage", "actions"), [("deny", ["Deny"]), ("audit", ["Audit", "Warn"])])
def test_a_binding_does_what_its_policy_is_called_for(stage: Stage, actions: list[str]) -> None:
    cost_labels = configure({"cost/labels": {"level": "mandatory"}})
    found: list[Any] = manifests(
        [each for each in cost_labels if each.rule.id == "cost/labels"], stage=stage, today=TODAY
    )

    policy, binding = found
    assert binding["spec"] == {
        "policyName": policy["metadata"]["name"],
        "validationActions": actions,
    }


def test_a_disabled_rule_is_in_no_policy() -> None:
    found = policies(numa__guaranteed_qos={"level": "disabled"})

    assert QOS not in {rule for spec in found.values() for rule in rules(spec)}


def test_settings_and_facts_stand_in_the_policies_that_read_them() -> None:
    facts = of(pool("dgx", purpose="inference"))
    found = policies(facts=facts, idle__notebooks={"max_hours": 7})

    given = {
        name: {each["name"]: each["expression"] for each in spec["variables"]}
        for name, spec in found.items()
    }
    assert given["fleet-idle"]["notebooks_max_hours"] == "7"
    for name in ("fleet-idle", "fleet-numa"):
        plain = given[name]["pools"].replace("dyn(", "").replace(")", "")
        assert json.loads(plain) == list(facts["pools"])
    assert "pools" not in given["fleet-isolation"]


def test_a_variable_stands_once_and_before_those_that_read_it() -> None:
    for spec in policies().values():
        names = [each["name"] for each in spec["variables"]]
        assert len(set(names)) == len(names)
        for number, each in enumerate(spec["variables"]):
            assert not any(f"variables.{later} " in each["expression"] for later in names[number:])


@pytest.mark.parametrize(("until", "exempt"), [("2026-11-21", True), ("2026-11-20", False)])
def test_what_is_exempt_from_one_rule_is_held_to_the_others(until: str, *, exempt: bool) -> None:
    leave = [{**LEAVE, "until": until}]
    said = rules(policies(numa__guaranteed_qos={"exemptions": leave})["fleet-numa"])

    assert ("Job/train" in said[QOS]) is exempt
    assert not any("Job/train" in text for rule, text in said.items() if rule != QOS)


def test_a_rule_is_not_asked_of_kinds_that_are_other_rules() -> None:
    said = rules(policies()["fleet-idle"])

    assert said["idle/pool-floor"].startswith("!(variables.resource in ['karpenter.sh/nodepools'])")
    assert "'karpenter.sh/nodepools'" in said["idle/launcher"].partition(" || ")[0]
    assert not said["idle/launcher"].startswith("!")


def test_a_rule_refuses_and_in_some_namespaces_only_warns() -> None:
    found = policies(numa__guaranteed_qos={"advisory_in": ["research"]})

    refuses, warns = rules(found["fleet-numa"])[QOS], rules(found["fleet-numa-warn"])[QOS]
    assert "object.metadata.?namespace.orValue('') in [\"research\"]" in refuses
    assert refuses.count("!(") > warns.count("!(") - 1
    assert rules(
        policies("audit", numa__guaranteed_qos={"advisory_in": ["research"]})["fleet-numa-warn"]
    )


def test_an_exemption_holds_where_it_says_and_to_its_day_for_what_is_new() -> None:
    where = {"namespace": "research", "namespace_label": "fleet.gpu/stage=sandbox"}
    leave = [{**LEAVE, "until": "2026-11-30", **where}]
    said = rules(policies(numa__guaranteed_qos={"exemptions": leave})["fleet-numa"])[QOS]

    assert "object.metadata.?namespace.orValue('') == \"research\"" in said
    assert 'labels[?"fleet.gpu/stage"].orValue(\'\') == "sandbox"' in said
    assert "timestamp('2026-12-01T00:00:00Z')" in said
    assert "variables.vouched" in said


def test_kinds_and_controllers_of_an_environment_are_in_its_policies() -> None:
    kind = {"group": "a.example", "resource": "runs", "kind": "Run"}
    facts = {
        "kinds": [{**kind, "templates": ["spec.parts[].template"]}],
        "controllers": ["system:serviceaccount:a:operator"],
    }
    spec = policies(facts=facts)["fleet-idle"]

    given = {each["name"]: each["expression"] for each in spec["variables"]}
    assert "'a.example/runs'" in given["declared"]
    assert '"system:serviceaccount:a:operator"' in given["controllers"]
    groups = [each["apiGroups"] for each in spec["matchConstraints"]["resourceRules"]]
    assert ["a.example"] in groups


def test_every_label_and_annotation_that_a_rule_reads_counts_as_a_change() -> None:
    numa = policies()["fleet-numa"]["matchConditions"]

    (changed,) = (each["expression"] for each in numa if each["name"] == "changed")
    for key in ("sidecar.istio.io/inject", "istio.io/rev", "linkerd.io/inject"):
        assert f"'{key}'" in changed
    assert "k.startsWith('fleet.gpu/')" in changed
    (idle,) = (
        each["expression"]
        for each in policies()["fleet-idle"]["matchConditions"]
        if each["name"] == "changed"
    )
    assert "'component'" in idle
    assert "'volcano.sh/preemptable'" in idle
