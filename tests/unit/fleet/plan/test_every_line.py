"""`fleet explain` knows each line that a plan can have."""

import pytest

from fleet.plan.description import lines
from fleet.plan.explanation import explain
from policies.environment import load
from settings import stack_file
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS
from tests.support.ignition.nodes import every_choice


def names() -> list[str]:
    """The name of each line in the plans of all machines, choices and environments."""
    plans = [node.plan for _, node in every_choice()]
    for environment in ENVIRONMENTS:
        pools = load(stack_file(ROOT, environment)).settings.pools.values()
        plans += [pool.plan for pool in pools]
    return sorted({line.key for plan in plans for line in lines(plan)})


NAMES = names()


def test_the_plans_have_lines_that_a_pool_asked_for() -> None:
    assert {"mitigations", "irqaffinity", "vm.dirty_bytes", "isolcpus"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_line_of_a_plan_is_explained(name: str) -> None:
    assert explain(name)
