"""The program's alerts on what a rehearsed fault shows, by the real promtool.

A series that is derived under a name or label which the rules do not read would set nothing off.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from rehearsal.faults.alerts import DRIFTS, judge
from rehearsal.faults.result import Alerts
from rehearsal.faults.rules import Rules
from rehearsal.faults.scene import Clock, Scene
from rehearsal.faults.scrape import Sample
from rehearsal.moves.watch import Seen
from tests.support.monitoring.promtool import rule_text
from tests.support.rehearsal.fault_scenes import (
    GANG,
    RUNNING,
    claim,
    job,
    node,
    pod,
    seen,
)

BEGAN, HELD = 10.0, 130.0


def fired(
    prometheus: Path,
    folder: Path,
    *events: Seen,
    samples: tuple[Sample, ...] = (),
    clock: Clock | None = None,
) -> Alerts:
    """What fires when these events follow on a gang that runs."""
    watch = SimpleNamespace(seen=[*RUNNING, *events], seconds=HELD)
    parts: dict[str, Any] = {"api": None, "processes": None, "controllers": None, "watch": watch}
    scene = Scene(directory=folder, gangs=(GANG,), clock=clock or Clock(), **parts)
    rules = Rules(groups=yaml.safe_load(rule_text())["groups"])
    return judge(prometheus / "promtool", rules, (BEGAN, HELD), samples, scene)


def names(found: Alerts) -> dict[str, float]:
    return {each.name: each.after_s for each in found.fired}


def test_nothing_fires_where_nothing_happens(prometheus: Path, tmp_path: Path) -> None:
    found = fired(prometheus, tmp_path)
    assert found.fired == ()
    assert found.judged > 8
    assert "LakefsDown" in found.not_judged


def test_a_machine_that_has_not_joined_for_its_time_is_told(
    prometheus: Path, tmp_path: Path
) -> None:
    new = seen(20, "NodeClaim", claim("claim-c", Registered="Unknown"))
    told = names(fired(prometheus, tmp_path, new))
    assert 12 * 60 <= told["RentedMachineNotJoined"] <= 15 * 60


def test_machines_whose_gang_waits_are_told_to_idle(prometheus: Path, tmp_path: Path) -> None:
    waits = (
        seen(11, "Gang", job("Pending")),
        seen(11, "Pod", pod("0", "a", "Failed"), gone=True),
        seen(11, "Pod", pod("1", "b", "Failed"), gone=True),
    )
    found = fired(prometheus, tmp_path, *waits)
    idle = [each.about for each in found.fired if each.name == "GpuNodeIdle"]
    assert idle == ["a, burst", "b, burst"]


def test_karpenter_that_goes_on_being_refused_is_told_by_its_own_counter(
    prometheus: Path, tmp_path: Path
) -> None:
    labels = (("error", "InsufficientCapacityError"), ("method", "Create"))
    name = "karpenter_cloudprovider_errors_total"
    samples = tuple(
        Sample(at_s=at_s, name=name, labels=labels, value=at_s) for at_s in range(0, 130, 5)
    )
    told = fired(prometheus, tmp_path, samples=samples)
    assert "KarpenterCannotLaunch" in names(told)
    assert told.scraped == (name,)


def test_a_finding_of_the_node_check_is_told(prometheus: Path, tmp_path: Path) -> None:
    file = tmp_path / DRIFTS
    file.parent.mkdir(parents=True)
    file.write_text('fleet_node_check_drift{check="nvlink",level="critical"} 1\n')
    drifted = node("a")
    drifted["metadata"]["labels"]["fleet.gpu/numa-plan"] = "8c1f02aa"
    drifted["status"]["conditions"].append({"type": "NodeDrift", "status": "True"})
    told = fired(prometheus, tmp_path, seen(12, "Node", drifted))
    assert names(told)["NodeBroken"] == pytest.approx(360, abs=60)


def test_the_time_that_was_left_out_counts(prometheus: Path, tmp_path: Path) -> None:
    clock = Clock()
    clock.leave_out(30, 900, "Karpenter waits for a machine that hangs")
    events = (
        seen(20, "NodeClaim", claim("claim-c", Registered="Unknown")),
        seen(31, "NodeClaim", claim("claim-c"), gone=True),
    )
    told = fired(prometheus, tmp_path, *events, clock=clock)
    assert names(told)["RentedMachineNotJoined"] < 900
    assert "RentedMachineNotJoined" not in names(fired(prometheus, tmp_path, *events))
