"""Whole rehearsals with faults; the single ones are in tests/rehearsal/karpenter/test_faults.py."""

from typing import Any

import pytest

from tests.rehearsal.conftest import Checkout

HOUR_S = 3600
NO_HARM: dict[str, list[str]] = {"wrong_cordons": [], "wrong_ends": [], "doubled": [], "lost": []}


def harms(run: dict[str, Any]) -> dict[str, Any]:
    return {harm: run[harm] for harm in NO_HARM}


def alerts(run: dict[str, Any]) -> set[str]:
    return {each["name"] for each in run["alerts"]["fired"]}


@pytest.mark.slow
def test_gangs_go_on_through_a_killed_control_plane_and_a_link_that_is_down(
    checkout: Checkout,
) -> None:
    faults = [f"--fault={kind}@2" for kind in ("link", "etcd", "api")]

    ended = checkout.run("rehearse", "dev", "--json", *faults, deadline_s=HOUR_S)

    assert ended.code == 0, ended.stderr
    runs = {run["kind"]: run for run in ended.report["faults"]["runs"]}
    assert {*runs} == {"link", "etcd", "api"}
    assert all(run["recovered"] and harms(run) == NO_HARM for run in runs.values())
    assert "starts again" not in runs["link"]["seconds"]
    assert alerts(runs["link"]) == {"NodeBroken"}
    assert checkout.left_running() == []


@pytest.mark.slow
def test_a_gang_that_ec2_has_no_capacity_for_waits_on_a_part_of_its_machines(
    checkout: Checkout,
) -> None:
    ended = checkout.run("rehearse", "dev", "--json", "--fault=capacity@2", deadline_s=HOUR_S)

    assert ended.code == 0, ended.stderr
    (run,) = ended.report["faults"]["runs"]
    assert run["seconds"]["mended"] < run["seconds"]["runs again"]
    assert run["usd_waiting"] > 0
    assert alerts(run) == {"KarpenterCannotLaunch", "GpuNodeIdle"}


@pytest.mark.slow
def test_a_gang_waits_for_the_machine_that_stopped_and_then_starts_again(
    checkout: Checkout,
) -> None:
    ended = checkout.run("rehearse", "dev", "--json", "--fault=node@2", deadline_s=HOUR_S)

    assert ended.code == 0, ended.stderr
    (run,) = ended.report["faults"]["runs"]
    order = ("not ready", "pods evicted", "mended", "starts again", "runs again")
    assert [name for name in run["seconds"] if name in order] == [*order]
    assert run["seconds"]["pods evicted"] > 300
    assert run["usd_lost"] > 0
