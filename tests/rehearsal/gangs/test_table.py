"""The table of decision 0005 on the real Volcano and Karpenter, a row each, and its known holes.

What queues share of owned machines by weight and class is in `tests/rehearsal/test_queue_shares.py`
with Volcano alone, since Karpenter has no part in it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from components.platform.volcano import SCHEDULER
from rehearsal.nodes import NODES
from tests.support.rehearsal.gangs import AGAIN, HARD, JOBS, WHOLE, Gangs, gang

pytestmark = pytest.mark.slow
SHIPPED = str(SCHEDULER["actions"])
ALLOCATES = "enqueue, allocate, backfill"
ON_BURST = {"pod": {"nodeSelector": {"fleet.gpu/pool": "burst"}}}
THESE = {**HARD, **AGAIN}
LIMITS = {"containers": [{"name": "train", "image": "train", "resources": {"limits": WHOLE}}]}


@dataclass(frozen=True, kw_only=True)
class Row:
    """`free` is a queue without our rules; its gangs say nothing of topology."""

    owned: int = 0
    rented: int = 0
    queue: str = "free"
    members: int
    spec: Mapping[str, object] = field(default_factory=dict)
    actions: str = SHIPPED
    made: int
    runs: bool


ROWS = {
    "a part fits an owned machine, allocate alone": Row(
        owned=1, members=5, actions=ALLOCATES, made=3, runs=False
    ),
    "a part fits an owned machine, with preempt": Row(owned=1, members=5, made=4, runs=True),
    "a part fits a rented machine, allocate alone": Row(
        rented=1, members=5, spec=ON_BURST, actions=ALLOCATES, made=3, runs=False
    ),
    "hard topology": Row(
        owned=1, rented=3, queue="rented", members=5, spec=THESE, made=2, runs=True
    ),
    "GPUs in the limits alone": Row(
        rented=1, queue="rented", members=3, spec={**THESE, "pod": LIMITS}, made=2, runs=True
    ),
    "GPUs in the limits alone, without our rules": Row(
        rented=1, members=3, spec={**HARD, "pod": {**ON_BURST["pod"], **LIMITS}}, made=1, runs=False
    ),
    "hard topology without a selector, over two pools": Row(
        owned=1, rented=5, members=6, spec=THESE, made=0, runs=False
    ),
    "a queue with several pools": Row(
        owned=2, rented=1, queue="both", members=5, made=2, runs=True
    ),
    "a queue with several pools, allocate alone": Row(
        owned=2, queue="both", members=5, actions=ALLOCATES, made=3, runs=True
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_is_rented_and_whether_the_gang_runs(fleet: Gangs, row: Row) -> None:
    fleet.owned(row.owned)
    fleet.idle(row.rented)
    fleet.actions(row.actions)
    fleet.submit(row.queue, "gang", row.members, **row.spec)
    if row.runs:
        fleet.runs(row.queue, "gang", row.members)
    else:
        fleet.ground.wait(lambda: fleet.said(row.queue, "gang"), "Volcano has not tried it")
        fleet.ground.wait(lambda: fleet.made() == row.made, "other machines are made")
        fleet.all_there()
        fleet.more_passes()
        assert fleet.running(row.queue, "gang") == 0
    assert fleet.made() == row.made


def test_a_queue_that_is_full_by_its_capability_alone_gets_machines_that_stay_empty(
    fleet: Gangs,
) -> None:
    """Without the quota of its namespace: Volcano's `capability` holds the pods, not the job."""
    quota = "/api/v1/namespaces/two/resourcequotas/gpus"
    kept = fleet.api.get(quota) or {}
    more = {"requests.nvidia.com/gpu": "96"}
    fleet.ground.patch(quota, {"spec": {"hard": more}})
    try:
        fleet.submit("two", "five", 5, **THESE)
        fleet.ground.wait(lambda: fleet.made() == 5, "other machines are made")
        fleet.all_there()
        fleet.more_passes()
        assert fleet.running("two", "five") == 0
    finally:
        fleet.ground.patch(quota, {"spec": kept["spec"]})


def test_a_queue_that_is_full_by_its_quota_gets_no_pods_and_no_machines(fleet: Gangs) -> None:
    fleet.submit("two", "five", 5, **THESE)
    fleet.submit("two", "first", 2, **THESE)
    fleet.runs("two", "first", 2)
    fleet.submit("two", "second", 2, **THESE)
    fleet.more_rounds("two", "second")
    assert not fleet.pods("two", "second")
    assert not fleet.pods("two", "five")
    assert fleet.made() == 2

    fleet.end("two", "first")

    fleet.runs("two", "second", 2)
    assert fleet.made() == 2


@pytest.mark.parametrize("lost", [Gangs.cordoned, Gangs.silent], ids=["cordoned", "not Ready"])
def test_an_idle_machine_that_takes_no_work_is_no_room(
    fleet: Gangs, lost: Callable[[Gangs, str], None]
) -> None:
    """Hole a: fleet-pool-domains takes it out of the pool's domain."""
    fleet.idle(1)
    (node,) = [each["metadata"]["name"] for each in fleet.api.items(NODES)]
    lost(fleet, node)
    fleet.ground.wait(lambda: node in fleet.left_out("burst"), "it is in the domain still")
    fleet.submit("rented", "two", 2, **THESE)
    fleet.runs("rented", "two", 2)
    assert fleet.made() == 2


def test_what_is_left_of_a_gang_waits_where_it_is_not_started_anew(fleet: Gangs) -> None:
    """Hole b, in a queue with one pool: hence `RestartJob`. The API server asks for it."""
    refused = fleet.refusal(JOBS.format("rented"), gang("rented", "left", 3, **HARD))
    assert "RestartJob" in refused
    fleet.idle(4)
    fleet.submit("free", "left", 3, **{**ON_BURST, **HARD})
    fleet.runs("free", "left", 3)
    for lost in fleet.pods("free", "left")[:2]:
        fleet.cordoned(lost["spec"]["nodeName"])
        path = f"/api/v1/namespaces/free/pods/{lost['metadata']['name']}"
        fleet.api.delete(path, dependents="Background")
    fleet.ground.wait(lambda: len(fleet.said("free", "left")) == 2, "Volcano has not tried them")
    fleet.more_passes(3)
    assert fleet.running("free", "left") == 1
    assert fleet.made() == 0
