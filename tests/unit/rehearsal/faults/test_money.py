"""What a fault costs."""

import pytest

from hardware.catalogue import load
from rehearsal.faults import money
from rehearsal.faults.scene import Clock
from rehearsal.karpenter.instances import Instance
from tests.support.rehearsal.fault_scenes import GANG

TYPE = "p5e.48xlarge"


def machine(id_: str, launched: float, ended: float | None = None) -> Instance:
    place = {"zone": "us-east-1b", "subnet": "s", "address": "10.0.0.1", "image": "i"}
    made = {"token": "t", "template": "l", "profile": "p", "user_data": "u"}
    times = {"launched": launched, "ended": ended}
    return Instance(id=id_, type=TYPE, capacity="spot", **place, **made, **times)  # type: ignore[arg-type]


def test_the_work_of_a_gang_is_its_gpus_for_the_hours_that_it_is_taken_to_be_old() -> None:
    price = load(TYPE).usd_per_hour
    assert price
    assert money.gpu_hours(GANG) == 192.0
    assert money.usd_of_work(GANG, TYPE) == pytest.approx(192 * price / 8, abs=0.01)


def test_rented_machines_are_paid_while_they_are_there_and_a_boot_with_its_real_time() -> None:
    price = load(TYPE).usd_per_hour
    assert price
    clock = Clock()
    clock.leave_out(1030, 3600 - 60, "a machine boots")
    ended, stays, new = machine("a", 0, 1010), machine("b", 0), machine("c", 1020)
    cost = money.usd_of_rented([ended, stays, new], clock, 0, 1000, 1060)
    hours = (10 + 3600 + 3600 - 20) / 3600
    assert cost == pytest.approx(hours * price, abs=0.01)


def test_a_machine_that_the_catalogue_has_no_price_for_costs_nothing() -> None:
    assert money.usd_of_owned(["unknown"], Clock(), 0, 3600) == 0.0
