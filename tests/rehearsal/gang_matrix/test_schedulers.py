"""Each scheduler of the matrix starts a gang on machines that Karpenter rents for it.

The first run builds Kueue and the second Kubernetes, which take minutes.
"""

import pytest
from rich.console import Console

from benchmarks.gangs.__main__ import measure
from benchmarks.gangs.scenarios import SCENARIOS
from benchmarks.gangs.schedulers import SCHEDULERS

NOTHING_IDLE = tuple(each for each in SCENARIOS if each.name == "nothing-idle")


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_gang_starts_on_rented_machines_in_one_round(name: str) -> None:
    (found,) = measure(SCHEDULERS[name], NOTHING_IDLE, Console(stderr=True))
    assert not found.missing
    (row,) = found.rows
    assert (row.started, row.rounds, row.made, row.evictions) == (1, 1, 3, 0)
