"""A finding names the keys of the stack file that decide it."""

from datetime import date

import pytest

from policies.configuration import Exemption, configure
from policies.exemptions import expired
from policies.gates.judging import findings
from policies.language.rule import Manifest, Rule
from policies.rules import ALL
from policies.verdicts import Finding, Resource, as_json
from settings.names import GPU, POOL_LABEL

TODAY = date(2026, 11, 23)
URN = "urn:pulumi:dev::gpu-fleet::x::burst-spot"


def node_pool(after: str = "10m", expires: str = "Never", limit: str = "8") -> Manifest:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "burst-spot", "labels": {POOL_LABEL: "burst"}},
        "spec": {
            "limits": {GPU: limit},
            "disruption": {"consolidateAfter": after},
            "template": {"spec": {"expireAfter": expires}},
        },
    }


def found(manifest: Manifest, rule: str, urn: str = URN) -> Finding:
    asked = [each for each in configure({}) if each.rule.id == rule]
    resource = Resource(kind="NodePool", name="burst-spot", urn=urn)
    (one,) = findings(manifest, asked, resource=resource, today=TODAY)
    return one


@pytest.mark.parametrize(
    ("manifest", "keys"),
    [
        (
            node_pool(after="30m"),
            ("pools.{pool}.consolidate_after_minutes", "max_consolidate_after_minutes"),
        ),
        (node_pool(expires="1h"), ("pools.{pool}.expire_after_hours", "longest_job_hours")),
        (node_pool(limit="-1"), ("pools.{pool}.gpu_limits",)),
    ],
)
def test_the_keys_are_those_of_the_faulty_field(manifest: Manifest, keys: tuple[str, ...]) -> None:
    rule = "idle/gpu-node-pool"
    first, *settings = keys
    one = found(manifest, rule)
    assert one.pool == "burst"
    assert one.keys == (first, *(f"policies.{rule}.{name}" for name in settings))


def test_an_object_that_the_stack_did_not_make_has_no_key() -> None:
    one = found(node_pool(after="30m"), "idle/gpu-node-pool", urn="")
    assert (one.pool, one.keys) == ("", ())


def test_a_finding_is_read_back_with_its_keys() -> None:
    one = found(node_pool(after="30m"), "idle/gpu-node-pool")
    assert Finding.from_json(as_json(one)) == one


def test_an_exemption_that_has_ended_is_to_be_changed_where_it_stands() -> None:
    rule = ALL[0].id
    over = {"resource": "Queue/x", "owner": "desk", "reason": "warm-up", "until": "2026-01-31"}
    (one,) = expired(configure({rule: {"exemptions": [over]}}), TODAY)
    assert isinstance(one.exemption, Exemption)
    assert one.keys == (f"policies.{rule}.exemptions",)


def test_an_exemption_ends_within_a_year() -> None:
    said = {"resource": "Queue/x", "owner": "desk", "reason": "warm-up"}
    for day, is_told in (("2027-11-20", False), ("2099-12-31", True)):
        asked = configure({ALL[0].id: {"exemptions": [{**said, "until": day}]}})
        found = [sentence for one in expired(asked, TODAY) for sentence in one.sentences]
        assert [one.endswith("must end by 2027-11-24, in a year.") for one in found] == (
            [True] * is_told
        )


@pytest.mark.parametrize("rule", [rule for rule in ALL if rule.keys], ids=lambda rule: rule.id)
def test_each_setting_that_a_rule_names_is_one_of_its_own(rule: Rule) -> None:
    """By what its `keys` return for a NodePool of spot machines."""
    (asked,) = [each for each in configure({}) if each.rule is rule]
    assert asked.rule.keys
    own = f"policies.{asked.rule.id}."
    settings = {**asked.settings, "today": TODAY.isoformat()}
    keys = asked.rule.keys(node_pool(after="30m", expires="1h"), settings)
    named = {key.removeprefix(own) for key in keys if key.startswith("policies.")}
    assert named <= asked.rule.schema.keys()
