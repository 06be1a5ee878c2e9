"""What follows from a pool as it is declared."""

from dataclasses import replace

import pytest

from hardware.catalogue import load
from ignition.plan.tuning import Tuning
from settings import AwsPoolSettings, CapacityType
from settings.resolved import ResolvedPool, resolve
from tests.support.components.boots import declared


def resolved(machine: str) -> ResolvedPool:
    return resolve("pool", declared(machine, "training", Tuning()), load(machine))


def test_a_pools_gpus_bear_the_price_of_their_machine() -> None:
    pool = resolved("dgx-h200")
    assert pool.hardware.usd_per_hour is not None
    assert pool.usd_per_gpu_hour == pytest.approx(pool.hardware.usd_per_hour / 8)


def test_a_pool_without_gpus_has_no_price_of_one() -> None:
    assert resolved("ccx33").usd_per_gpu_hour is None


@pytest.mark.parametrize(
    ("capacities", "usd"),
    [(("reserved",), 41.61), (("spot",), 27.2), (("spot", "reserved", "on-demand"), 63.296)],
)
def test_rented_gpus_cost_what_the_dearest_of_their_capacities_does(
    capacities: tuple[CapacityType, ...], usd: float
) -> None:
    pool = resolved("p5en.48xlarge")
    assert isinstance(pool.declared, AwsPoolSettings)
    limited = replace(pool.declared, gpu_limits=dict.fromkeys(capacities, 8))
    assert replace(pool, declared=limited).usd_per_gpu_hour == pytest.approx(usd / 8)
