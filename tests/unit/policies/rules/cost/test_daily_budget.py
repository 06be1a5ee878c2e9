"""What a day of an environment can cost, against its budget."""

from typing import Any

import pytest

from policies.language.inventory import usd_per_day_by_pool
from policies.rules.cost.daily_budget import RULE
from tests.support.policies.environments import stack as environment
from tests.support.policies.machines import Resource, host, node_pool, server


def violations(stack: list[Resource], usd_per_day: float, *pools: str) -> dict[int, list[str]]:
    """What is said of each resource of a stack, by its place in it."""
    assert RULE.across is not None
    said = {
        place: RULE.across(each, {"usd_per_day": usd_per_day, "pools": pools}, stack)
        for place, each in enumerate(stack)
    }
    return {place: sentences for place, sentences in said.items() if sentences}


def rented(kind: str, **inputs: object) -> Resource:
    return {"kind": f"aws:{kind}", "metadata": {"name": "r"}, "spec": inputs}


NAMESPACE: Resource = {"kind": "Namespace", "metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("resource", "usd"),
    [
        (host(), 18.83 * 24),
        (server(), 0.1897 * 1.16 * 24),
        (node_pool(16), 2 * 41.61 * 24),
        (node_pool("8", capacity="spot"), 27.2 * 24),
        (node_pool(8, capacity="on-demand"), 63.296 * 24),
        (node_pool(8, instance="p5e.48xlarge", capacity="spot"), 39.80 * 24),
        (node_pool(0), 0),
    ],
)
def test_a_machine_costs_what_the_catalogue_says_for_how_it_is_paid(
    resource: Resource, usd: float
) -> None:
    (found,) = usd_per_day_by_pool([resource]).values()

    assert found == pytest.approx(usd, abs=0.01)


@pytest.mark.parametrize(
    "resource",
    [
        NAMESPACE,
        host(hardware="mainframe"),
        server(server_type="cx11"),
        node_pool("many"),
        node_pool(instance="p9.48xlarge"),
        {"kind": "BareMetalHost"},
        {"kind": "NodePool", "apiVersion": "karpenter.sh/v1"},
    ],
)
def test_machines_unknown_to_the_catalogue_are_left_out_of_the_sum(resource: Resource) -> None:
    assert usd_per_day_by_pool([resource]) == {}


def test_the_first_machine_is_told_what_all_of_them_cost() -> None:
    stack = [NAMESPACE, host(), host(name="dgx-02"), node_pool(8), server()]

    (first, said), *others = violations(stack, 1900).items()
    assert (first, others) == (1, [])
    assert said == [
        (
            "BareMetalHost 'dgx-01' must be one of machines that cost at most 1,900 USD a day; all "
            "together cost up to 1,908 (burst 999, dgx 904, cpu 5)."
        )
    ]
    assert violations(stack, 1908) == {}


def test_a_pool_has_a_budget_of_its_own() -> None:
    stack = [host(), node_pool(8), node_pool(8, capacity="spot"), host(name="dgx-02")]

    assert violations(stack, 10_000, "burst 1651", "dgx 903") == {
        0: [
            (
                "BareMetalHost 'dgx-01' must be one of machines of pool 'dgx' that cost at most "
                "903 USD a day; they cost up to 904."
            )
        ],
        1: [
            (
                "NodePool 'burst-reserved' must be one of machines of pool 'burst' that cost at "
                "most 1,651 USD a day; they cost up to 1,651."
            )
        ],
    }
    assert violations(stack, 10_000, "burst 1652", "dgx 904", "other 0") == {}


def test_two_capacity_types_of_one_pool_are_one_sum() -> None:
    pools = usd_per_day_by_pool([node_pool(8), node_pool(8, capacity="spot")])

    assert pools == {"burst": pytest.approx((41.61 + 27.2) * 24)}


def test_a_stack_without_machines_costs_nothing() -> None:
    assert violations([NAMESPACE], 0) == {}


def test_the_machines_of_dev_are_all_counted() -> None:
    resources: Any = environment("dev")

    assert usd_per_day_by_pool(resources) == {
        "dgx": pytest.approx(2 * 18.83 * 24),
        "burst": pytest.approx(2 * 39.80 * 24),
        "cpu": pytest.approx(3 * 0.2201 * 24, abs=0.01),
    }


def test_a_pool_of_several_types_costs_what_the_dearest_does() -> None:
    several = node_pool(16)
    requirement = several["spec"]["template"]["spec"]["requirements"][0]
    requirement["values"] = ["p9.48xlarge", "p5e.48xlarge", "p5en.48xlarge"]

    assert usd_per_day_by_pool([several]) == {"burst": pytest.approx(2 * 41.61 * 24)}


def test_groups_of_ec2_instances_are_counted_at_their_largest_size() -> None:
    tags = {"fleet.gpu/pool": "burst"}
    types = {"instanceTypes": ["p5en.48xlarge"], "scalingConfig": {"minSize": 0, "maxSize": 3}}
    group = [{"key": "fleet.gpu/pool", "value": "burst"}]
    override = {"overrides": [{"instanceType": "p5en.48xlarge"}]}
    launched = {"maxSize": 2, "mixedInstancesPolicy": {"launchTemplate": override}, "tags": group}

    found = [
        rented("ec2/instance:Instance", instanceType="p5en.48xlarge", tags=tags),
        rented("eks/nodeGroup:NodeGroup", **types, capacityType="SPOT", tags=tags),
        rented("autoscaling/group:Group", **launched),
        rented("ec2/instance:Instance", instanceType="t3.micro", tags=tags),
    ]

    assert [usd_per_day_by_pool([each]) for each in found] == [
        {"burst": pytest.approx(63.296 * 24)},
        {"burst": pytest.approx(3 * 27.2 * 24)},
        {"burst": pytest.approx(2 * 63.296 * 24)},
        {},
    ]
