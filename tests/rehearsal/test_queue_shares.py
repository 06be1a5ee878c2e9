"""How the real scheduler of Volcano, as the program configures it, shares machines by queues."""

from collections.abc import Callable

import pytest

from rehearsal.control_plane import Launcher
from settings import Queue
from tests.support.rehearsal.volcano import MACHINES, Cluster, start, wait

PRODUCTION = Queue(weight=3, gpus=32, pool="dgx")
RESEARCH = Queue(weight=1, gpus=32, pool="dgx")
BURST = Queue(weight=8, gpus=16, pool="burst")  # whose machines are never made


@pytest.fixture
def cluster(launcher: Launcher) -> Callable[..., Cluster]:
    return lambda **queues: start(launcher, queues)


@pytest.mark.parametrize("first", ["the gang that bursts", "some of the owned machines"])
def test_owned_machines_never_stand_idle_for_a_gang_that_waits_for_rented_ones(
    cluster: Callable[..., Cluster], first: str
) -> None:
    queues = cluster(production=PRODUCTION, burst=BURST)
    if first == "the gang that bursts":
        queues.gang("burst", "gang", 2)
        queues.settles(production=0, burst=0)
    for number in range(MACHINES // 2):
        queues.gang("production", f"early-{number}")
    queues.reaches(production=MACHINES // 2, burst=0)
    if first == "some of the owned machines":
        queues.gang("burst", "gang", 2)
    for number in range(MACHINES // 2):
        queues.gang("production", f"late-{number}")
    queues.settles(production=MACHINES, burst=0)


def test_queues_of_one_pool_take_machines_back_by_weight_while_a_gang_waits_elsewhere(
    cluster: Callable[..., Cluster],
) -> None:
    queues = cluster(production=PRODUCTION, research=RESEARCH, burst=BURST)
    queues.gang("burst", "gang", 2)
    for number in range(MACHINES):
        queues.gang("research", f"research-{number}")
    queues.reaches(production=0, research=MACHINES, burst=0)
    for number in range(MACHINES):
        queues.gang("production", f"production-{number}")
    queues.settles(production=3, research=1, burst=0)


def test_a_higher_class_takes_machines_of_a_lower_one_in_its_own_full_queue(
    cluster: Callable[..., Cluster],
) -> None:
    queues = cluster(production=PRODUCTION)
    for number in range(MACHINES):
        queues.gang("production", f"low-{number}")
    queues.reaches(production=MACHINES)
    queues.gang("production", "high", 2, priority="high")
    pods = [f"/api/v1/namespaces/production/pods/high-{member}" for member in range(2)]
    wait(lambda: all(map(queues.runs, pods)), lambda: f"{queues.running()}, none of them high")
    queues.reaches(production=MACHINES)


def test_a_queue_never_holds_more_than_its_bound(cluster: Callable[..., Cluster]) -> None:
    queues = cluster(production=Queue(weight=1, gpus=16, pool="dgx"))
    for number in range(MACHINES):
        queues.gang("production", f"job-{number}")
    queues.settles(production=2)
