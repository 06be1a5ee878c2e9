"""What a preview says of machines that leave their pool."""

import pytest

from engine.events import Diagnostic, Outcome
from fleet.preview.refusals import refusals
from kube.metal3 import DETACHED
from settings.names import BARE_METAL_HOST, NODE_DRAIN
from tests.support.preview.changes import summary
from tests.support.preview.engine_events import Event, component, ignition, shown, step, urn

POOL = urn("gpu:pools:BareMetalPool", "dgx")


def told(*parts: Event) -> tuple[str, ...]:
    inputs = shown("dgx", "dgx-h200", ignition("dgx-h200"), "training")
    pool = component("same", "dgx", "BareMetalPool", old=inputs, new=inputs)
    return dict(summary(pool, *parts).pools).get("dgx", ())


def host(op: str, *, detached: bool = False) -> Event:
    annotations = {DETACHED: "leaving"} if detached else {}
    inputs = {"metadata": {"name": "dgx-01", "annotations": annotations}}
    new = None if op == "delete" else inputs
    return step(op, BARE_METAL_HOST, "dgx-dgx-01", old=inputs, new=new, parent=POOL)


def drain(op: str) -> Event:
    inputs = {"node": "dgx-01"}
    old, new = (None, inputs) if op == "create" else (inputs, None)
    return step(op, NODE_DRAIN, "dgx-dgx-01-drain", old=old, new=new, parent=POOL)


@pytest.mark.parametrize(
    ("detached", "then"),
    [
        (False, "Metal3 wipes its partition tables and powers it off"),
        (True, "Metal3 forgets it and leaves its disks and its power as they are"),
    ],
)
def test_a_machine_that_leaves_is_drained_first_and_given_away_by_the_next_update(
    detached: bool, then: str
) -> None:
    (leaves,) = told(host("update", detached=detached), drain("create"))
    assert leaves == (
        "dgx-01 leaves: its node is cordoned, and the update waits until its jobs have ended; the "
        f"machine stays installed until its entry goes, then {then}"
    )
    going = told(host("delete", detached=detached), drain("delete"))
    assert f"dgx-01 goes: {then}" in going


def test_a_machine_that_stays_after_all_takes_pods_again() -> None:
    assert told(host("update"), drain("delete")) == ("dgx-01 stays: its node takes pods again",)


def test_a_drain_that_has_ended_is_nothing_new() -> None:
    assert told(host("same"), step("same", NODE_DRAIN, "dgx-dgx-01-drain", parent=POOL)) == ()


@pytest.mark.parametrize(
    "said",
    [
        (
            'Preview failed: resource "{0}" cannot be deleted because it is protected. To '
            "unprotect the resource, either remove the `protect` flag"
        ),
        (
            'unable to delete resource "{0}"\nas it is currently marked for protection. To '
            "unprotect the resource, remove the `protect` flag"
        ),
    ],
)
def test_a_protected_machine_is_refused_with_the_way_on(said: str) -> None:
    name = f"urn:pulumi:dev::gpu-fleet::gpu:pools:BareMetalPool${BARE_METAL_HOST}::dgx-dgx-01"
    message = f"{said.format(name)} from the resource in your Pulumi program and run `pulumi up`"
    outcome = Outcome(diagnostics=[Diagnostic(severity="error", resource="", message=message)])
    (refused,) = refusals("dev", outcome, "")
    assert refused == (
        "dgx-dgx-01 is a machine whose entry is gone, and it has not left: put the entry back "
        "with `leaving: true` (or `leaving: detach`), update, and take it out with the next "
        "update. The first update drains the machine, the second gives it away. A pool or a site "
        "with a new name needs `was:` with the first one."
    )
