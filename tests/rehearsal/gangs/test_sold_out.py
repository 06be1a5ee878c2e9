"""A gang of two machines of which one can be had: dev has one of reserved capacity.

Spot machines are sold out here from the start. Karpenter remembers what was, so this cluster is one
of its own.
"""

from collections.abc import Iterator

import pytest

from rehearsal.karpenter.launch import sell_out
from tests.support.rehearsal.gangs import AGAIN, HARD, Gangs, gangs

pytestmark = pytest.mark.slow
THESE = {**HARD, **AGAIN}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gangs]:
    with gangs(tmp_path_factory.mktemp("sold-out")) as made:
        sell_out(made.ground.directory, [{"capacity": "spot"}])
        yield made


def test_what_came_is_kept_for_the_rest_that_is_sold_out(fleet: Gangs) -> None:
    """Hole c, in a queue with one pool: Karpenter names the machine for the pods again and again.

    In a queue with `pools` it is given back, as the next test shows.
    """
    fleet.submit("rented", "half", 2, **THESE)
    fleet.ground.wait(lambda: len(fleet.rented()) == 1 and fleet.is_there(), "none came")
    fleet.aged()
    fleet.ground.wait(lambda: _is_nominated(fleet), "nothing keeps the machine")
    fleet.more_passes()
    assert len(fleet.rented()) == 1
    assert fleet.running("rented", "half") == 0


def _is_nominated(fleet: Gangs) -> bool:
    """Whether Karpenter says that it may not remove the machine since it is meant for a pod."""
    (machine,) = fleet.rented()
    events = fleet.api.items("/api/v1/events")
    said = [each["message"] for each in events if each["involvedObject"].get("name") == machine]
    return any("nominated" in message for message in said)


def test_what_came_is_given_back_where_the_rest_is_sold_out(fleet: Gangs) -> None:
    fleet.submit("both", "half", 2)
    fleet.ground.wait(lambda: fleet.rented() and fleet.is_there(), "none came")
    fleet.ground.wait(lambda: fleet.buffers("both"), "it gave up at once")

    fleet.waited("both", 30)

    fleet.ground.wait(lambda: "given back" in fleet.told("both")[0], "it is told nothing")
    assert not fleet.buffers("both"), "it is told when its buffer is gone"
    fleet.ground.wait(fleet.is_rid_of_idle, "the machine is not given back")
    assert fleet.running("both", "half") == 0


def test_what_came_for_a_gang_that_is_deleted_while_it_waits_goes(fleet: Gangs) -> None:
    fleet.owned(1)  # the fleet's own pods run there, so that nothing else waits
    fleet.submit("both", "half", 3)
    fleet.ground.wait(lambda: fleet.rented() and fleet.is_there(), "none came")
    fleet.ground.wait(lambda: _is_kept_for_a_buffer(fleet), "nothing keeps the machine")
    fleet.end("both", "half")
    fleet.more_passes(1)
    fleet.ground.wait(fleet.is_rid_of_idle, "the machine stays")


def _is_kept_for_a_buffer(fleet: Gangs) -> bool:
    fleet.aged()
    said = [each["message"] for each in fleet.api.items("/api/v1/events")]
    return any("has buffer pods" in message for message in said)
