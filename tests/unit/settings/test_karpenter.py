"""What Karpenter counts on machines that it has not rented yet."""

import pytest

from hardware.catalogue import load
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import Tuning
from settings.karpenter import (
    DAEMONS_MIB,
    DEFAULT_OVERHEAD,
    launchable_memory_mib,
    memory_overhead,
    node_memory_mib,
)

P5E = load("p5e.48xlarge")
PLAN = plan(P5E, Tuning(housekeeping_cores_per_numa_node=4), "training")


def test_karpenters_own_overhead_hides_a_tenth_of_a_p5e() -> None:
    assert node_memory_mib(P5E, PLAN, DEFAULT_OVERHEAD) == 1_926_553


def test_a_pod_leaves_room_for_the_daemons_that_karpenter_counts() -> None:
    assert launchable_memory_mib(P5E, PLAN, 0.025) == 2_031_411 - DAEMONS_MIB


def test_all_machines_of_an_environment_share_the_overhead_that_is_safe_for_each() -> None:
    assert memory_overhead([P5E]) == 0.025
    assert memory_overhead([P5E, load("p4de.24xlarge")]) == 0.035


@pytest.mark.parametrize("machines", [(), ("gex44",), ("gex44", "p5e.48xlarge")])
def test_without_a_figure_karpenters_own_overhead_stays(machines: tuple[str, ...]) -> None:
    assert memory_overhead(map(load, machines)) == DEFAULT_OVERHEAD
