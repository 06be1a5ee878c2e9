"""When owning is cheaper than renting."""

import pytest

from policies.rules.cost.crossover import RULE
from tests.support.policies.asked import Resource, said
from tests.support.policies.machines import host, node_pool, server


def test_a_reservation_is_told_the_figures_of_owning() -> None:
    assert said(RULE, node_pool(16)) == [
        (
            "NodePool 'burst-reserved' must cost no more than owning: 2 reserved p5en.48xlarge, 24 "
            "hours a day, are 1,997 USD a day, owned dgx-h200 with the same GPUs 904; owning is "
            "cheaper from 10.9 hours a day on."
        )
    ]


@pytest.mark.parametrize(
    ("capacity", "hours", "cheaper"),
    [
        ("on-demand", 7, True),
        ("on-demand", 8, False),
        ("spot", 16, True),
        ("spot", 17, False),
    ],
)
def test_a_rented_pool_that_runs_long_enough_is_reported(
    capacity: str, hours: int, cheaper: bool
) -> None:
    pool = node_pool(8, capacity=capacity)

    assert (said(RULE, pool, sustained_hours_per_day=hours) == []) is cheaper


def test_nothing_is_assumed_of_how_long_machines_run() -> None:
    assert said(RULE, node_pool(8, capacity="on-demand")) == []


@pytest.mark.parametrize(
    "resource",
    [
        node_pool(0),
        node_pool(instance="p5.48xlarge"),
        node_pool(instance="p9.48xlarge"),
        host(),
        server(),
        {"kind": "Namespace", "metadata": {"name": "n"}},
    ],
)
def test_without_two_prices_there_is_nothing_to_compare(resource: Resource) -> None:
    assert said(RULE, resource, sustained_hours_per_day=24) == []
