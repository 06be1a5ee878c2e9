"""The machines that an update takes, and the sentence where they are more than is allowed."""

import dataclasses

from settings import Allow
from settings.taken import Machines, Taken, beyond, taken, within

BEFORE = Machines(
    servers={"cpu-1": "aa", "cpu-2": "aa", "old-1": None},
    hosts=frozenset({"dgx-01", "dgx-02"}),
    leaving=frozenset(),
    rented={"burst-reserved": 4, "burst-on-demand": 8},
)


def after(**changes: object) -> Taken:
    return taken(BEFORE, dataclasses.replace(BEFORE, **changes))  # type: ignore[arg-type]  # fields of it


def test_an_update_that_changes_nothing_takes_nothing() -> None:
    assert after() == Taken()


def test_a_server_is_taken_that_is_made_of_something_else_or_goes() -> None:
    assert after(servers={"cpu-1": "bb", "old-1": "cc"}).replace == {"cpu-1": 1, "cpu-2": 1}
    assert after(servers={**BEFORE.servers, "cpu-3": "aa"}) == Taken(), "a new one takes none"


def test_a_server_of_which_nothing_is_known_is_taken_only_when_it_goes() -> None:
    assert after(servers={"cpu-1": "aa", "cpu-2": "aa"}).replace == {"old-1": 1}


def test_a_host_is_drained_when_it_begins_to_leave_and_never_again() -> None:
    leaving = dataclasses.replace(BEFORE, leaving=frozenset({"dgx-01"}))
    assert taken(BEFORE, leaving).drain == {"dgx-01": 1}
    assert taken(leaving, leaving) == Taken()
    assert after(leaving=frozenset({"dgx-03"})) == Taken(), "no such machine is deployed"


def test_a_node_pool_that_goes_drains_as_many_machines_as_it_may_have() -> None:
    assert after(rented={"burst-reserved": 0}).drain == {"burst-on-demand": 8}


def test_more_machines_than_allowed_are_one_sentence_with_their_names_and_the_key() -> None:
    found = Taken(replace={"cpu-1": 1, "cpu-2": 1}, drain={"burst-on-demand": 8})
    replaced, drained = beyond(found, Allow())
    assert replaced == (
        "This update replaces or deletes 2 servers (cpu-1, cpu-2), which ends their pods, and "
        "gpu-fleet:allow.replace is 1; set it to 2 for this update where that is meant."
    )
    assert drained == (
        "This update drains 8 machines (burst-on-demand: up to 8), which ends their pods, and "
        "gpu-fleet:allow.drain is 1; set it to 8 for this update where that is meant."
    )
    assert tuple(beyond(found, Allow(replace=2, drain=8))) == ()


def test_as_many_machines_as_allowed_are_said_and_not_refused() -> None:
    found = Taken(replace={"cpu-1": 1})
    (sentence,) = within(found, Allow())
    assert sentence == (
        "This update replaces or deletes 1 server (cpu-1), which ends their pods; "
        "gpu-fleet:allow.replace is 1"
    )
    assert tuple(beyond(found, Allow())) == ()


def test_a_long_list_of_machines_is_cut() -> None:
    (sentence,) = beyond(Taken(replace={f"cpu-{n}": 1 for n in range(1, 11)}), Allow())
    assert "(cpu-1, cpu-2, cpu-3, cpu-4, cpu-5, cpu-6, 4 more)" in sentence
