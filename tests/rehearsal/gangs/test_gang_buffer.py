"""fleet-gang-buffer with its own rights, on the real Volcano and Karpenter.

The queue `both` has the pools `dgx`, of owned machines, and `burst`.
"""

import pytest

from components.platform.gang_buffer import NAME
from rehearsal.controllers.ours import start_ours
from rehearsal.nodes import NODE_CLAIMS
from tests.support.rehearsal.gangs import GATES, HARD, JOBS, WHOLE, Gangs, gang
from tests.support.rehearsal.rented import POOLS


def large(gpus: str) -> dict[str, object]:
    """A pod that asks for so many GPUs."""
    resources = {"requests": {**WHOLE, "nvidia.com/gpu": gpus}}
    resources["limits"] = resources["requests"]
    return {"containers": [{"name": "train", "image": "train", "resources": resources}]}


def test_a_gang_over_owned_and_rented_machines_is_one_round_and_no_machine_too_many(
    fleet: Gangs,
) -> None:
    fleet.owned(2)
    fleet.submit("both", "five", 5)
    fleet.runs("both", "five", 5)

    assert fleet.made() == 3
    nodes = [pod["spec"]["nodeName"] for pod in fleet.pods("both", "five")]
    assert sum(name.startswith("dgx-") for name in nodes) == 2
    created = {each["metadata"]["creationTimestamp"] for each in fleet.api.items(NODE_CLAIMS)}
    assert len(created) == 1, "Karpenter made them in several rounds"
    fleet.ground.wait(lambda: not fleet.buffers("both"), "the buffer outlives the wait")
    fleet.ground.wait(lambda: fleet.told("both") == [""], "the PodGroup still says that it waits")
    assert fleet.made() == 3


@pytest.mark.parametrize(
    ("pod", "says"),
    [(large("16"), "which no machine to rent has"), ({}, "more than the gpu_limits of burst")],
    ids=["a shape that nobody offers", "more than the limits"],
)
def test_a_gang_that_never_fits_rents_nothing_and_says_why(
    fleet: Gangs, pod: dict[str, object], says: str
) -> None:
    limit = {"nvidia.com/gpu": "8"}
    fleet.ground.patch(f"{POOLS}/burst-spot", {"spec": {"limits": limit}})
    try:
        fleet.submit("both", "never", 3, pod=pod)
        fleet.ground.wait(lambda: says in str(fleet.told("both")), "it does not say why")

        assert fleet.buffers("both") == []
        assert fleet.made() == 0
        events = fleet.api.items("/api/v1/namespaces/both/events")
        found = {each["message"] for each in events if each["reason"] == "MachinesRefused"}
        assert any(says in message for message in found)
    finally:
        fleet.ground.patch(f"{POOLS}/burst-spot", {"spec": {"limits": {"nvidia.com/gpu": "96"}}})


def test_with_its_gang_the_buffer_goes(fleet: Gangs) -> None:
    fleet.submit("both", "gone", 2)
    fleet.ground.wait(lambda: fleet.buffers("both"), "no buffer")
    fleet.end("both", "gone")
    fleet.ground.wait(lambda: not fleet.buffers("both"), "the buffer of a deleted gang stays")
    templates = "/api/v1/namespaces/both/podtemplates"
    fleet.ground.wait(lambda: not fleet.api.items(templates), "its template stays")


def test_the_machines_of_a_gang_that_ends_go_also_where_nothing_else_waits(fleet: Gangs) -> None:
    """Karpenter keeps machines on which a buffer had pods until it looks for machines again."""
    fleet.owned(1)  # the fleet's own pods run there, so that none waits
    fleet.submit("both", "three", 3)
    fleet.runs("both", "three", 3)
    fleet.ground.wait(lambda: not fleet.buffers("both"), "the buffer outlives the wait")
    fleet.end("both", "three")
    fleet.more_passes(1)
    fleet.ground.wait(fleet.is_rid_of_idle, "machines that nobody needs stay")


def test_killed_at_any_time_it_goes_on_where_it_was(fleet: Gangs) -> None:
    fleet.owned(1)
    fleet.submit("both", "three", 3)
    fleet.ground.wait(lambda: fleet.buffers("both"), "no buffer")
    for _ in range(2):
        _kill(fleet)
        start_ours(fleet.ground.place)
    fleet.ground.wait(fleet.rented, "no machine is asked for")
    _kill(fleet)
    start_ours(fleet.ground.place)
    fleet.runs("both", "three", 3)
    fleet.ground.wait(lambda: not fleet.buffers("both"), "the buffer outlives the wait")
    assert fleet.made() == 2


def _kill(fleet: Gangs) -> None:
    for record in fleet.ground.processes.records():
        if record.name == NAME and (leader := record.leader()):
            leader.kill()
    fleet.ground.processes.end([NAME])


@pytest.mark.slow
def test_a_buffer_left_by_a_killed_program_makes_no_machine_when_its_gang_starts(
    fleet: Gangs,
) -> None:
    """What it keeps are the machines that are there; it asks for none."""
    fleet.submit("both", "two", 2)
    fleet.ground.wait(lambda: len(fleet.rented()) == 2, "no machine is asked for")
    fleet.ground.wait(lambda: "hostname" in _asked(fleet), "the buffer asks still")
    _kill(fleet)
    try:
        fleet.runs("both", "two", 2)
        fleet.more_passes()
        assert fleet.buffers("both")
        assert fleet.made() == 2
    finally:
        start_ours(fleet.ground.place)


def _asked(fleet: Gangs) -> str:
    return str(fleet.api.items("/api/v1/namespaces/both/podtemplates"))


@pytest.mark.slow
def test_two_gangs_share_no_machine_that_is_on_its_way(fleet: Gangs) -> None:
    fleet.owned(1)
    fleet.submit("both", "one", 3)
    fleet.submit("both", "other", 2)
    fleet.runs("both", "one", 3)
    fleet.runs("both", "other", 2)
    fleet.ground.wait(lambda: not fleet.buffers("both"), "a buffer outlives the wait")
    assert fleet.made() == 4


@pytest.mark.slow
def test_the_rest_of_a_gang_that_lost_a_machine_gets_another(fleet: Gangs) -> None:
    """Without `RestartJob`, which a queue with one pool needs for it: hole b of the table."""
    fleet.owned(2)
    fleet.submit("both", "four", 4)
    fleet.runs("both", "four", 4)
    lost = next(each for each in fleet.pods("both", "four") if "dgx" in each["spec"]["nodeName"])
    node = lost["spec"]["nodeName"]
    fleet.cordoned(node)
    fleet.api.delete(f"/api/v1/namespaces/both/pods/{lost['metadata']['name']}")
    fleet.ground.wait(lambda: fleet.made() == 3, "no machine comes in its place")
    fleet.runs("both", "four", 4)
    assert fleet.made() == 3


@pytest.mark.slow
def test_one_machine_comes_for_one_that_is_taken_back(fleet: Gangs) -> None:
    """Karpenter counts the pods of a machine that it drains, and makes the other itself."""
    fleet.owned(1)
    fleet.submit("both", "two", 2)
    fleet.runs("both", "two", 2)
    (machine,) = fleet.rented()
    fleet.taken_back(machine)
    try:
        fleet.ground.wait(lambda: fleet.made() == 2, "no machine comes in its place")
        fleet.ground.wait(lambda: machine not in fleet.rented(), "the machine stays")
        fleet.runs("both", "two", 2)
        fleet.more_passes()
        assert fleet.made() == 2
    finally:  # it remembers for three minutes that AWS had no more of these
        fleet.ground.kill()
        fleet.ground.install(**GATES)


@pytest.mark.slow
def test_members_that_volcano_numbers_are_one_buffer(fleet: Gangs) -> None:
    fleet.submit("both", "ranks", 3, plugins={"env": [], "svc": []})
    fleet.ground.wait(lambda: fleet.buffers("both"), "no buffer")
    (one,) = fleet.buffers("both")
    assert one["spec"]["replicas"] == 3
    fleet.runs("both", "ranks", 3)
    assert fleet.made() == 3


def test_the_api_server_lets_a_gang_span_pools_there_and_nowhere_else(fleet: Gangs) -> None:
    refused = {
        "both": fleet.refusal(JOBS.format("both"), gang("both", "hard", 2, **HARD)),
        "anywhere": fleet.refusal(JOBS.format("anywhere"), gang("anywhere", "soft", 2)),
    }
    assert "must not have networkTopology of mode hard" in refused["both"]
    assert "a gang must be in a queue that has a pool" in refused["anywhere"]
    assert fleet.refusal(JOBS.format("both"), gang("both", "soft", 2)) == ""
    apart: dict[str, object] = {"podAntiAffinity": {}}
    pod = gang("both", "own", 1, pod={"affinity": apart, "schedulerName": "volcano"})
    body = {**pod["spec"]["tasks"][0]["template"], "metadata": {"name": "own"}}
    said = fleet.refusal("/api/v1/namespaces/both/pods", body)
    assert "must have no affinity of its own" in said
