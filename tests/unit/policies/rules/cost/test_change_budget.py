"""How much more a day may cost after one change."""

import pytest

from policies.rules.cost.change_budget import RULE
from tests.support.policies.asked import Resource, said_in
from tests.support.policies.machines import host, node_pool

NAMESPACE: Resource = {"kind": "Namespace", "metadata": {"name": "x"}}
STACK = [NAMESPACE, host(), node_pool(16)]
"""2,449 USD a day: 451.92 and 1,997.28."""


def test_a_change_that_costs_more_than_it_may_is_told_to_the_first_machine() -> None:
    assert said_in(RULE, STACK, usd_per_day=1000, usd_per_day_before=452) == [
        (
            "BareMetalHost 'dgx-01' must be one of machines that cost at most 1,000 USD a day more "
            "than before; they cost up to 2,449, which is 1,997 more."
        )
    ]


@pytest.mark.parametrize(("before", "kept"), [(1449.2, True), (1449.1, False), (9999, True)])
def test_the_difference_is_what_counts(before: float, kept: bool) -> None:
    told = said_in(RULE, STACK, usd_per_day=1000, usd_per_day_before=before)

    assert (told == []) is kept


def test_the_first_machines_of_a_stack_count_as_a_change() -> None:
    assert said_in(RULE, STACK, usd_per_day=2449, usd_per_day_before=0) != []
    assert said_in(RULE, STACK, usd_per_day=2450, usd_per_day_before=0) == []


def test_without_a_before_there_is_no_change() -> None:
    assert said_in(RULE, STACK, usd_per_day=0) == []


def test_a_stack_without_machines_costs_nothing() -> None:
    assert said_in(RULE, [NAMESPACE], usd_per_day=0, usd_per_day_before=0) == []
