"""What the watch has seen, read as the course of a fault."""

from rehearsal.faults import replay
from rehearsal.faults.scene import Clock, Hit
from tests.support.rehearsal.fault_scenes import (
    DISRUPTED,
    GANG,
    RUNNING,
    TAKEN,
    job,
    node,
    pod,
    seen,
)

HIT = Hit(words="a ends", nodes=frozenset({"a"}), gang=GANG)


def test_the_course_of_a_fault_has_each_step_at_the_time_of_its_first_sight() -> None:
    assert replay.milestones(TAKEN, 10, HIT) == {
        "tainted": 10.5,
        "pods evicted": 11,
        "starts again": 12,
        "machine asked for": 15,
        "machine joined": 21,
        "runs again": 24,
    }


def test_a_gang_with_a_pod_on_a_node_that_is_silent_does_not_run() -> None:
    silent = (*RUNNING, seen(11, "Node", node("a", ready="Unknown")))
    assert GANG.runs(replay.at(RUNNING, 10))
    assert not GANG.runs(replay.at(silent, 11))
    assert "not ready" in replay.milestones(silent, 10, HIT)
    assert "runs again" not in replay.milestones(silent, 10, HIT)


def test_a_gang_that_asks_for_its_first_machines_is_timed_without_an_eviction() -> None:
    starts = (
        seen(9, "Gang", job("Pending")),
        seen(12, "Node", node("a")),
        seen(12, "Node", node("b")),
        seen(13, "Pod", pod("0", "a")),
        seen(14, "Pod", pod("1", "b")),
        seen(15, "Gang", job("Running")),
    )
    hit = Hit(words="", nodes=frozenset(), gang=GANG, asks_s=9)
    assert replay.milestones(starts, 9, hit)["runs again"] == 15


def test_a_node_that_the_fault_did_not_concern_is_cordoned_without_a_reason() -> None:
    assert replay.wrong_cordons(TAKEN, 10, HIT) == ()
    other = (*TAKEN, seen(25, "Node", node("b", DISRUPTED)))
    assert replay.wrong_cordons(other, 10, HIT) == ("b (karpenter.sh/disrupted)",)
    new = (*TAKEN, seen(25, "Node", node("c", DISRUPTED)))
    assert replay.wrong_cordons(new, 10, HIT) == ("c (karpenter.sh/disrupted)",)


def test_a_gang_that_starts_again_though_nothing_was_taken_from_it_is_named() -> None:
    assert replay.wrong_ends(TAKEN, 10, [GANG], HIT) == ()
    server = Hit(words="etcd is killed", may_restart=False)
    assert replay.wrong_ends(TAKEN, 10, [GANG], server) == (GANG.name,)


def test_what_was_left_out_is_counted_from_its_moment_on() -> None:
    clock = Clock()
    clock.leave_out(20, 295, "a machine boots")
    assert clock.between(10, 19) == 9
    assert clock.between(10, 24) == 14 + 295
    assert clock.twin(10, 9) == 19
    assert clock.twin(10, 200) == 20
    assert clock.twin(10, 14 + 295) == 24
