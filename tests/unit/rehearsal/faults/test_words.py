"""What the report says of faults."""

import json
from dataclasses import replace

from rehearsal.faults.result import Alerts, FaultRun, Faults, FiredAlert
from rehearsal.faults.words import lines
from rehearsal.report import Report
from tests.support.rehearsal.reports import text

ALERT = FiredAlert(name="GpuNodeIdle", severity="warning", about="a, burst", after_s=1860)
SPOT = FaultRun(
    kind="spot",
    at_s=5,
    hit="EC2 takes i-1 back (a, p5e.48xlarge)",
    seconds={"tainted": 0.6, "pods evicted": 0.9, "starts again": 1.5, "runs again": 493.9},
    shortened={"a machine boots": 295},
    recovered=True,
    limit_s=240,
    gpu_hours_lost=192,
    usd_lost=955.2,
    usd_waiting=8.84,
    alerts=Alerts(fired=(ALERT,), judged=12, not_judged=("LakefsDown",)),
)
HUNG = FaultRun(kind="node", at_s=1, hit="a stops", limit_s=240, wrong_cordons=("b (cordoned)",))


def test_a_fault_that_the_fleet_came_through_is_one_line() -> None:
    (line,) = lines(Faults(gangs=("quants/g",), runs=(SPOT,)))
    assert (line.mark, line.about) == ("good", "fault spot")
    assert line.text == (
        "EC2 takes i-1 back (a, p5e.48xlarge): tainted after 1 s, runs again after 494 s; "
        "no wrong cordon; 964.04 USD; alerts: GpuNodeIdle"
    )
    assert [*SPOT.problems()] == []


def test_a_fleet_that_does_not_recover_or_cordons_wrongly_is_a_problem_each() -> None:
    (line,) = lines(Faults(runs=(HUNG,)))
    assert line.mark == "bad"
    assert "not recovered within 240 s" in line.text
    assert [*HUNG.problems()] == [
        "Fault node@1 (a stops): not recovered within 240 s of the twin.",
        "Fault node@1: cordoned or tainted without a reason: b (cordoned).",
    ]


def test_the_whole_report_has_a_row_for_each_fault_and_says_what_was_left_out() -> None:
    shown = text(Report(environment="dev", faults=Faults(gangs=("q/g",), runs=(SPOT, HUNG))), 160)
    row = next(line for line in shown.splitlines() if "spot@5" in line)
    assert row.split()[:6] == ["spot@5", "0.6", "0.9", "1.5", "493.9", "0"]
    assert "left out in the twin and counted: a machine boots (295 s)" in shown
    assert "alert GpuNodeIdle (a, burst), warning, fires after 1,860 s" in shown
    assert "LakefsDown" in shown


def test_the_faults_of_a_report_survive_being_written_as_json() -> None:
    report = Report(environment="dev", faults=Faults(gangs=("q/g",), runs=(SPOT, HUNG)))
    assert Report.from_json(json.dumps(report.as_json())).faults == report.faults


def test_usd_that_are_not_known_are_not_said_to_be_none() -> None:
    unknown = replace(SPOT, usd_waiting=None)
    (line,) = lines(Faults(runs=(unknown,)))
    assert "USD not known" in line.text
    shown = text(Report(environment="dev", faults=Faults(gangs=("q/g",), runs=(unknown,))), 160)
    row = next(line for line in shown.splitlines() if "spot@5" in line)
    assert row.split()[-3:] == ["955.20", "not", "known"]
    assert "the catalogue has no price of a machine of the gang" in shown
