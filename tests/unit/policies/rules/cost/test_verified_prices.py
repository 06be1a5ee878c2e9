"""How sure the prices of a stack's machines are."""

from typing import Any

import pytest

from policies.rules.cost.verified_prices import RULE
from tests.support.policies.asked import Resource, said_in
from tests.support.policies.environments import stack
from tests.support.policies.machines import host, node_pool, server

OWNED = (
    "BareMetalHost 'dgx-01' must have a verified price in hardware/dgx-h200.yaml; that of an owned "
    "machine is of 2026-11-20 and not verified."
)


def test_a_guessed_price_is_told_once_for_all_machines_of_a_kind() -> None:
    assert said_in(RULE, [host(), host(name="dgx-02"), host(name="dgx-03")]) == [OWNED]


@pytest.mark.parametrize(
    "resource",
    [
        server(),
        node_pool(capacity="reserved"),
        node_pool(capacity="spot"),
        node_pool(capacity="on-demand"),
    ],
)
def test_a_price_that_was_read_passes(resource: Resource) -> None:
    assert said_in(RULE, [resource]) == []


def test_a_price_that_nobody_knows_is_told_for_the_way_of_paying_that_it_is_for() -> None:
    assert said_in(RULE, [node_pool(capacity="spot", instance="p5e.48xlarge")]) == [
        (
            "NodePool 'burst-spot' must have a price in hardware/p5e.48xlarge.yaml for spot "
            "machines, to be counted in any sum."
        )
    ]
    assert said_in(RULE, [node_pool(capacity="reserved", instance="p5e.48xlarge")]) == []
    (sentence,) = said_in(RULE, [server(server_type="ccx63")])
    assert "must have a price in hardware/ccx63.yaml for machines on demand" in sentence


def test_a_machine_of_no_catalogue_is_told() -> None:
    assert said_in(RULE, [host(hardware="mainframe")]) == [
        (
            "BareMetalHost 'dgx-01' must be a machine of the hardware catalogue, to be counted in "
            "any sum; it is mainframe."
        )
    ]


def test_objects_that_are_no_machines_cost_nothing() -> None:
    assert said_in(RULE, [{"kind": "Namespace", "metadata": {"name": "n"}}]) == []
    assert said_in(RULE, [{"kind": "BareMetalHost", "metadata": {"name": "n"}}]) == []


def test_prod_is_told_of_its_owned_machines_and_of_what_is_sold_as_blocks_alone() -> None:
    resources: list[Any] = list(stack("prod"))

    told = said_in(RULE, resources)

    assert sorted(sentence.split(" must ")[0] for sentence in told) == [
        "BareMetalHost 'dgx-01'",
        "NodePool 'burst-on-demand'",
    ]


def test_a_pool_that_names_no_type_is_in_no_sum_and_told() -> None:
    family = node_pool()
    family["spec"]["template"]["spec"]["requirements"][0] = {
        "key": "karpenter.k8s.aws/instance-family",
        "operator": "In",
        "values": ["p5en"],
    }

    assert said_in(RULE, [family]) == [
        (
            "NodePool 'burst-reserved' must be a machine of the hardware catalogue, to be counted "
            "in any sum; it is any machine with GPUs."
        )
    ]


def test_each_type_of_a_pool_of_several_is_judged() -> None:
    several = node_pool()
    requirement = several["spec"]["template"]["spec"]["requirements"][0]
    requirement["values"] = ["p9.48xlarge", "p5en.48xlarge", "p8.48xlarge"]

    assert [sentence.rpartition(" ")[2] for sentence in said_in(RULE, [several])] == [
        "p9.48xlarge.",
        "p8.48xlarge.",
    ]
