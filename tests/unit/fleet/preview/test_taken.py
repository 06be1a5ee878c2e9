"""The machines that an update takes, counted from the engine's steps and held to `allow:`."""

import dataclasses

import pytest

from fleet.preview.markdown import markdown
from fleet.preview.steps import steps
from fleet.preview.summary import Summary, summarise
from fleet.preview.taken import taken_by
from settings import Allow
from settings.names import NODE_DRAIN
from settings.taken import Taken
from tests.support.preview.changes import DEV, DGX, cpu, limit, server, summary
from tests.support.preview.engine_events import HOST, Event, engine_run, step


def counted(*events: Event) -> Taken:
    return taken_by(steps(events).values())


def host(op: str, name: str) -> Event:
    inputs = {"metadata": {"name": name}, "spec": {}}
    old = None if op == "create" else inputs
    new = None if op == "delete" else inputs
    return step(op, HOST, f"dgx-{name}", old=old, new=new, parent=DGX)


def drain(op: str, name: str) -> Event:
    old = None if op == "create" else {"node": name}
    new = None if op == "delete" else {"node": name}
    return step(op, NODE_DRAIN, f"dgx-{name}-drain", old=old, new=new, parent=DGX)


def test_replaced_and_deleted_servers_count_and_new_ones_do_not() -> None:
    found = counted(server("replace", 1), server("delete", 2), server("create", 3))
    assert found == Taken(replace={"cpu-1": 1, "cpu-2": 1})


def test_a_host_counts_when_its_drain_begins_and_not_again_when_it_goes() -> None:
    assert counted(drain("create", "dgx-01")) == Taken(drain={"dgx-01": 1})
    assert counted(drain("delete", "dgx-01"), host("delete", "dgx-01")) == Taken()


def test_a_node_pool_that_goes_drains_its_machines() -> None:
    assert counted(limit("spot", 16, None)).drain == {"burst-spot": 1}, "its machine is not known"
    assert counted(limit("spot", 16, 8)) == Taken(), "a lower limit ends no machine"


def replaced(number: int, allow: Allow) -> Summary:
    environment = dataclasses.replace(DEV, settings=dataclasses.replace(DEV.settings, allow=allow))
    events = cpu(*(server("replace", each, ("userData",)) for each in range(1, number + 1)))
    return summarise(environment, engine_run(*events))


def test_more_machines_than_allowed_stop_the_preview_and_the_changes_are_shown_with_it() -> None:
    found = replaced(3, Allow())
    assert not found.holds
    text = markdown(found)
    assert "stopped: more machines than `gpu-fleet:allow`" in text.splitlines()[0]
    assert "⛔ This update replaces or deletes 3 servers (cpu-1, cpu-2, cpu-3)" in text
    assert "3 servers replaced one at a time" in text
    refused = dataclasses.replace(found, errors=("dgx-01 is a machine whose entry is gone.",))
    assert markdown(refused).splitlines()[0].endswith(": stopped"), "no setting would let it pass"


def test_as_many_machines_as_allowed_are_told() -> None:
    found = replaced(3, Allow(replace=3))
    assert found.holds
    assert "⚠️ This update replaces or deletes 3 servers (cpu-1, cpu-2, cpu-3)" in markdown(found)


@pytest.mark.parametrize(
    ("op", "told"),
    [
        (
            "update",
            "changed: the access to the cluster (kubeconfig), for which no object is replaced",
        ),
        (
            "replace",
            "another cluster: every object of the old one is deleted and made in the new one",
        ),
    ],
)
def test_another_access_to_the_cluster_is_told_by_what_happens_in_it(op: str, told: str) -> None:
    found = summary(step(op, "pulumi:providers:kubernetes", "cluster", old={}, new={}))
    assert found.others == (told,)
