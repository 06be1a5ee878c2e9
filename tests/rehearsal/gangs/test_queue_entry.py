"""Gangs whose own pods fill the quota of their queue, and fleet-queue-entry, which lets them in.

Volcano alone keeps them out for ever, also while Karpenter's machines for them stand idle. Each
test sees that first. The queue `two` has a quota of two machines.
"""

from collections.abc import Iterator

import pytest

from components.platform.queue_entry import NAME
from rehearsal.controllers.ours import start_ours
from tests.support.rehearsal.gangs import AGAIN, GROUPS, HARD, JOBS, WHOLE, Gangs

PODS = "/api/v1/namespaces/two/pods"
EVENTS = "/api/v1/namespaces/two/events"
THESE = {**HARD, **AGAIN}
OUT_OF_SYNC = "volcano.sh/controller-out-of-sync"


@pytest.fixture
def alone(fleet: Gangs) -> Iterator[Gangs]:
    """Volcano without the program, until a test starts it or ends."""
    fleet.ground.place.end([NAME])
    for event in fleet.api.items(EVENTS):
        fleet.api.delete(f"{EVENTS}/{event['metadata']['name']}")
    yield fleet
    start_ours(fleet.ground.place)


def is_kept_out(fleet: Gangs) -> None:
    """Waits until Volcano has said so of a gang that has pods."""

    def said() -> bool:
        told = [str(event.get("message")) for event in fleet.api.items(EVENTS)]
        return any("resource quota insufficient" in each for each in told)

    fleet.ground.wait(said, "Volcano lets it in: the program is needed no more")


def test_pods_that_no_job_of_volcano_makes_may_fill_their_queue(alone: Gangs) -> None:
    container = {"name": "one", "image": "one", "resources": {"requests": WHOLE, "limits": WHOLE}}
    names = ("first", "second")
    for name in names:
        spec = {"restartPolicy": "Never", "containers": [container]}
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
        alone.api.create(PODS, {"metadata": {"name": name}, "spec": spec})
    is_kept_out(alone)
    assert all("nodeName" not in pod["spec"] for pod in alone.api.items(PODS))

    start_ours(alone.ground.place)

    def run() -> bool:
        return all(pod["status"].get("phase") == "Running" for pod in alone.api.items(PODS))

    alone.ground.wait(run, "two pods do not fill a queue of two machines")
    for name in names:
        alone.api.delete(f"{PODS}/{name}", dependents="Background")


@pytest.mark.slow
@pytest.mark.parametrize("existing", [2, 1], ids=["all of its pods", "a part of them"])
def test_a_gang_whose_pods_came_before_volcano_let_it_in_runs(alone: Gangs, existing: int) -> None:
    """As one that starts anew may: its controller may see the PodGroup that was before."""
    alone.submit("two", "early", 2, **THESE)
    alone.ground.wait(lambda: len(alone.pods("two", "early")) == 2, "it has no pods")
    (group,) = alone.api.items(GROUPS.format("two"))
    path = f"{GROUPS.format('two')}/{group['metadata']['name']}"
    alone.ground.patch(path, {"status": {"phase": "Pending"}})
    for pod in alone.pods("two", "early")[existing:]:
        name = f"{PODS}/{pod['metadata']['name']}"
        alone.ground.patch(name, {"metadata": {"annotations": {OUT_OF_SYNC: "true"}}})
        alone.api.delete(name, dependents="Background")
    is_kept_out(alone)
    alone.ground.wait(alone.rented, "no machine is asked for")
    alone.all_there()
    assert alone.running("two", "early") == 0

    start_ours(alone.ground.place)

    alone.runs("two", "early", 2)
    assert alone.made() == 2


@pytest.mark.slow
def test_a_gang_that_starts_anew_in_a_full_queue_runs_again_each_time(fleet: Gangs) -> None:
    fleet.submit("two", "again", 2, maxRetry=10, **THESE)
    fleet.runs("two", "again", 2)
    fleet.submit("two", "next", 2, **THESE)
    for number in range(1, 5):
        lost = fleet.pods("two", "again")[0]["metadata"]["name"]
        fleet.api.delete(f"{PODS}/{lost}", dependents="Background")

        def again(number: int = number) -> bool:
            job = fleet.api.get(f"{JOBS.format('two')}/again") or {}
            anew = job["status"].get("retryCount", 0) == number
            return anew and fleet.running("two", "again") + fleet.running("two", "next") == 2

        fleet.ground.wait(again, "neither the gang nor the one that waited behind it runs")
        if fleet.running("two", "next"):
            break
    assert fleet.made() == 2
