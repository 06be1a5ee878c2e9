"""Rehearsals whose engine is killed at random steps, and that take all down in the end."""

from secrets import randbelow
from typing import Any

import pytest

from tests.rehearsal.conftest import Checkout

HARMS = ("doubled", "orphaned", "missing", "changes")
CONTROLLERS = {
    *("kube-controller-manager", "kube-scheduler", "kwok", "machine-loop", "karpenter"),
    *("volcano-admission", "volcano-controllers", "volcano-scheduler"),
    *("fleet-pool-domains", "fleet-queue-entry"),  # dev has no queue for fleet-gang-buffer
}
HOUR_S = 3600


def test_an_update_that_is_killed_three_times_does_no_harm_and_everything_goes_in_the_end(
    checkout: Checkout,
) -> None:
    ended = checkout.run("rehearse", "dev", "--json", "--kills=3", "--destroy", deadline_s=HOUR_S)

    assert ended.code == 0, ended.stderr
    kills, ending = ended.report["kills"], ended.report["ending"]
    assert_no_harm(kills, 3)
    assert any(kill["found"] for kill in kills["kills"]), "a kill in the middle of nothing"
    assert {*kills["restarted"]} >= CONTROLLERS
    runs = ended.report["smoke"]["runs"]
    assert runs
    assert all(run["as_it_must"] for run in runs), "the cluster works on"
    assert len(ending["drained"]) == 2, "Karpenter's finalizers had work to wait for"
    assert (ending["left"], ending["hanging"], ending["failed"]) == ([], [], "")
    assert ending["resources"] > 100
    assert {"dgx", "lakefs", "monitoring", "teams"} <= {*ending["protected"]}
    assert checkout.left_running() == []


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "times"), [("dev", 50), ("prod", 5)])
def test_however_often_an_update_is_killed_nothing_is_doubled_and_nothing_is_lost(
    environment: str, times: int, checkout: Checkout
) -> None:
    seed = randbelow(10_000)  # other steps each time; the same again with --seed
    kills = (f"--kills={times}", f"--seed={seed}")
    ended = checkout.run("rehearse", environment, "--json", *kills, deadline_s=HOUR_S)

    assert ended.code == 0, f"seed {seed}: {ended.stderr}"
    assert_no_harm(ended.report["kills"], times)


def assert_no_harm(kills: dict[str, Any], times: int) -> None:
    found = {harm: kills[harm] for harm in HARMS}
    assert found == {harm: [] for harm in HARMS}, f"seed {kills['seed']}"
    assert len(kills["kills"]) == times
