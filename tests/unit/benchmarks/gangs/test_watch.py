"""What a look at the pods of gangs tells of starts and evictions."""

from typing import Any

from benchmarks.gangs.scenarios import Gang
from benchmarks.gangs.scheduler import LABEL
from benchmarks.gangs.trial import Watch

GANG = (Gang(name="one", members=2),)


def pod(uid: str, node: str = "", phase: str = "Pending", **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"uid": uid, "labels": {LABEL: "one"}, **metadata},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase},
    }


def test_a_gang_runs_when_all_its_members_run_at_one_time() -> None:
    watch = Watch()
    watch.look([pod("a", "x", "Running"), pod("b")])
    assert watch.whole(GANG) == 0
    watch.look([pod("a", "x", "Running"), pod("b", "y", "Running")])
    assert watch.whole(GANG) == 1
    watch.look([pod("a", "x", "Running")])
    assert (watch.whole(GANG), watch.started(GANG)) == (0, 1)


def test_members_that_run_one_after_the_other_are_no_gang() -> None:
    watch = Watch()
    watch.look([pod("a", "x", "Running")])
    watch.look([pod("b", "y", "Running")])
    assert watch.started(GANG) == 0


def test_a_pod_that_had_a_machine_and_lost_it_is_an_eviction() -> None:
    watch = Watch()
    watch.look([pod("a", "x"), pod("b"), pod("c", "y", "Running"), pod("d", "z", "Running")])
    assert watch.lost == set()
    deleted = pod("d", "z", "Running", deletionTimestamp="2026-11-23T10:00:00Z")
    watch.look([pod("c", "y", "Failed"), deleted])
    assert watch.lost == {"a", "c", "d"}, "b never had a machine"


def test_a_pod_that_is_being_ended_runs_no_more() -> None:
    watch = Watch()
    ending = pod("b", "y", "Running", deletionTimestamp="2026-11-23T10:00:00Z")
    watch.look([pod("a", "x", "Running"), ending])
    assert watch.whole(GANG) == 0
