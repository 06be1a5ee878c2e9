"""When reserved capacity ends."""

import pytest

from policies.rules.cost.capacity_block import RULE
from tests.support.policies.asked import Resource, annotated, said
from tests.support.policies.machines import node_pool

NO_DAY = (
    "must say by fleet.gpu/reserved-until the last day of its reserved capacity, such as "
    "2027-01-31."
)
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"


def reservation(machine: str = "p5en.48xlarge", **more: object) -> Resource:
    spec = {"instanceType": machine, "instanceCount": 2, **more}
    return {"kind": RESERVATION, "metadata": {"name": "r"}, "spec": spec}


def block(until: str | None) -> Resource:
    tags = {} if until is None else {"fleet.gpu/reserved-until": until}
    return {"kind": BLOCK, "metadata": {"name": "b"}, "spec": {"tags": tags}}


@pytest.mark.parametrize("day", [None, "soon", "2027-02-30", "31.01.2027", ""])
def test_a_pool_of_reserved_machines_must_say_their_last_day(day: str | None) -> None:
    pool = node_pool() if day is None else annotated(node_pool(), reserved_until=day)

    assert said(RULE, pool) == [f"NodePool 'burst-reserved' {NO_DAY}"]
    assert said(RULE, block(day)) == [f"{BLOCK} 'b' {NO_DAY}"]


def test_a_last_day_that_is_far_off_passes() -> None:
    assert said(RULE, annotated(node_pool(), reserved_until="2027-01-31")) == []
    assert said(RULE, block("2027-01-31")) == []


@pytest.mark.parametrize(
    ("day", "told"),
    [
        ("2026-11-20", "must not count on reserved capacity that ended on 2026-11-20."),
        (
            "2026-11-21",
            "must have other capacity soon: its reserved capacity ends on 2026-11-21, in 0 days.",
        ),
        (
            "2026-11-27",
            "must have other capacity soon: its reserved capacity ends on 2026-11-27, in 6 days.",
        ),
    ],
)
def test_an_end_that_is_near_or_over_is_told(day: str, told: str) -> None:
    assert said(RULE, block(day)) == [f"{BLOCK} 'b' {told}"]


def test_how_near_an_end_is_told_is_a_setting() -> None:
    assert said(RULE, block("2026-11-28")) == []
    assert said(RULE, block("2026-11-28"), notice_days=8) != []
    assert said(RULE, block("2026-11-21"), notice_days=0) == []


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"endDateType": "unlimited"},
        {"endDateType": "unlimited", "endDate": "2027-01-31T00:00:00Z"},
        {"endDateType": "limited"},
    ],
)
def test_a_reservation_without_an_end_is_refused(more: dict[str, str]) -> None:
    assert said(RULE, reservation(**more)) == [
        f"{RESERVATION} 'r' must have endDateType limited and an endDate."
    ]
    assert said(RULE, reservation("m5.large", **more)) == []


def test_a_reservation_with_an_end_is_held_to_it() -> None:
    limited = {"endDateType": "limited"}

    assert said(RULE, reservation(endDate="2027-01-31T00:00:00Z", **limited)) == []
    (sentence,) = said(RULE, reservation(endDate="2026-11-01T00:00:00Z", **limited))
    assert sentence.endswith("ended on 2026-11-01.")


@pytest.mark.parametrize("capacity", ["spot", "on-demand"])
def test_capacity_that_is_not_reserved_has_no_end(capacity: str) -> None:
    assert said(RULE, node_pool(capacity=capacity)) == []
    assert said(RULE, {"kind": "Namespace", "metadata": {"name": "n"}}) == []
