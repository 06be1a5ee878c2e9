"""GPU pools that have machines without work."""

import pytest

from policies.rules.idle.pool_floor import RULE
from tests.support.policies.asked import Resource, annotated, said
from tests.support.policies.node_pools import node_pool

REASON, UNTIL = "fleet.gpu/keep-warm-reason", "fleet.gpu/keep-warm-until"


def group(least: object = 1, *, tags: object = None, machine: str = "p5en.48xlarge") -> Resource:
    spec = {"scalingConfig": {"minSize": least}, "instanceTypes": [machine], "tags": tags}
    return {"kind": "aws:eks/nodeGroup:NodeGroup", "metadata": {"name": "g"}, "spec": spec}


def scaled(least: int, machine: str, tags: object = None) -> Resource:
    overrides = [{"instanceType": machine}]
    spec = {
        "minSize": least,
        "mixedInstancesPolicy": {"launchTemplate": {"overrides": overrides}},
        "tags": tags,
    }
    return {"kind": "aws:autoscaling/group:Group", "metadata": {"name": "a"}, "spec": spec}


def test_a_group_with_a_floor_of_gpu_machines_is_refused() -> None:
    (sentence,) = said(RULE, group())

    assert sentence.startswith("aws:eks/nodeGroup:NodeGroup 'g' must have no machines without")
    assert sentence.endswith(f" say why and until when by {REASON} and {UNTIL} (2027-01-31).")
    assert len(said(RULE, scaled(2, "g6e.xlarge"))) == 1


def test_a_reason_with_a_last_day_to_come_passes() -> None:
    tags = {REASON: "the launch", UNTIL: "2026-11-21"}

    assert said(RULE, group(tags=tags)) == []
    listed = [{"key": key, "value": value} for key, value in tags.items()]
    assert said(RULE, scaled(1, "p5.48xlarge", listed)) == []


def test_a_reason_of_which_the_last_day_is_over_is_refused() -> None:
    (sentence,) = said(RULE, group(tags={REASON: "the launch", UNTIL: "2026-11-20"}))

    assert sentence.endswith(
        "the last day of its reason, by fleet.gpu/keep-warm-until, was 2026-11-20."
    )


@pytest.mark.parametrize(
    "tags",
    [
        {UNTIL: "2027-01-31"},
        {REASON: "", UNTIL: "2027-01-31"},
        {REASON: "the launch"},
        {REASON: "the launch", UNTIL: "soon"},
        {REASON: "the launch", UNTIL: "2027-02-30"},
        {REASON: "the launch", UNTIL: "31.01.2027"},
    ],
)
def test_half_a_reason_is_none(tags: dict[str, str]) -> None:
    assert len(said(RULE, group(tags=tags))) == 1


@pytest.mark.parametrize(
    "resource",
    [
        group(0),
        group(machine="m5.large"),
        scaled(0, "p5.48xlarge"),
        scaled(3, "c7i.xlarge"),
        node_pool(),
        node_pool("spec.replicas", 0),
        {"kind": "Namespace", "metadata": {"name": "n"}},
    ],
)
def test_a_pool_without_a_floor_of_gpus_passes(resource: Resource) -> None:
    assert said(RULE, resource) == []


def test_a_static_node_pool_has_a_floor() -> None:
    static = node_pool("spec.replicas", 2)

    assert len(said(RULE, static)) == 1
    dated = annotated(static, keep_warm_reason="the launch", keep_warm_until="2027-01-31")
    assert said(RULE, dated) == []
