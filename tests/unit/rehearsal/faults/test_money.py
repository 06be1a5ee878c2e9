"""What a fault costs, at the prices of the kinds of capacity that the machines have."""

from typing import Any

import pytest

from rehearsal.faults import money
from rehearsal.faults.scene import Clock
from rehearsal.faults.work import Now
from rehearsal.karpenter.instances import Instance
from settings.names import CAPACITY_LABEL, HARDWARE_LABEL, POOL_LABEL
from tests.support.rehearsal.fault_scenes import GANG, node, pod

TYPE = "p5en.48xlarge"
ON_DEMAND, SPOT, RESERVED = 63.296, 27.2, 41.61
"""USD an hour, in the catalogue."""


def machine(
    id_: str, launched: float, ended: float | None = None, *, capacity: str = "spot", **more: Any
) -> Instance:
    place = {"zone": "us-east-1b", "subnet": "s", "address": "10.0.0.1", "image": "i"}
    made = {"token": "t", "template": "l", "profile": "p", "user_data": "u"}
    times = {"launched": launched, "ended": ended}
    known = {"type": TYPE, "capacity": capacity, "tags": {POOL_LABEL: "burst"}}
    return Instance(id=id_, **place, **made, **times, **{**known, **more})  # type: ignore[arg-type]  # its fields


def fleet(hardware: str, *capacity: str | None) -> Now:
    """A node of each kind of capacity, with a pod of the gang on each."""
    nodes = {}
    for name, kind in zip("ab", capacity, strict=True):
        nodes[name] = node(name)
        nodes[name]["metadata"]["labels"][HARDWARE_LABEL] = hardware
        if kind:
            nodes[name]["metadata"]["labels"][CAPACITY_LABEL] = kind
    pods = {name: pod(name, name) for name in "ab"}
    return {"Node": nodes, "Pod": pods, "NodeClaim": {}, "Gang": {}}


@pytest.mark.parametrize(
    ("capacity", "usd"),
    [
        (("on-demand", "on-demand"), ON_DEMAND),
        (("spot", "spot"), SPOT),
        (("reserved", "spot"), (RESERVED + SPOT) / 2),
    ],
)
def test_the_work_of_a_gang_costs_what_the_capacity_of_its_machines_does(
    capacity: tuple[str, str], usd: float
) -> None:
    assert money.gpu_hours(GANG) == 192.0
    found = money.usd_of_work(GANG, fleet(TYPE, *capacity))
    assert found == pytest.approx(192 * usd / 8, abs=0.01)


def test_rented_machines_are_paid_while_they_are_there_and_a_boot_with_its_real_time() -> None:
    clock = Clock()
    clock.leave_out(1030, 3600 - 60, "a machine boots")
    ended, new = machine("a", 0, 1010), machine("c", 1020)
    stays = machine("b", 0, capacity="reserved")
    cost = money.usd_of_rented(GANG, [ended, stays, new], clock, 0, (1000, 1060))
    hours = 10 + 3600 - 20
    assert cost == pytest.approx((hours * SPOT + 3600 * RESERVED) / 3600, abs=0.01)


def test_machines_of_another_pool_are_not_those_of_the_gang() -> None:
    other = machine("b", 0, tags={POOL_LABEL: "other"})
    found = money.usd_of_rented(GANG, [machine("a", 0), other], Clock(), 0, (0, 3600))
    assert found == pytest.approx(SPOT, abs=0.01)


def test_owned_machines_cost_what_the_catalogue_says_of_them() -> None:
    found = money.usd_of_owned(GANG, fleet(TYPE, None, None), Clock(), (0, 1800))
    assert found == pytest.approx(ON_DEMAND, abs=0.01)


def test_where_the_catalogue_has_no_price_of_a_machine_the_sum_is_not_known() -> None:
    strange = fleet("unknown", None, None)
    assert money.usd_of_owned(GANG, strange, Clock(), (0, 3600)) is None
    assert money.usd_of_work(GANG, strange) is None
    rented = [machine("a", 0, type="unknown")]
    assert money.usd_of_rented(GANG, rented, Clock(), 0, (0, 3600)) is None
