"""What a change did, in the five lines of a pull request and the one of a terminal."""

import json
from dataclasses import replace

from rehearsal.moves.result import (
    Drifted,
    Due,
    EndedJob,
    MachineMove,
    Moves,
    Replaced,
    Shortage,
    Waited,
)
from rehearsal.moves.words import five_lines, one_line, whole
from rehearsal.report import Report
from rehearsal.short_report import render_short
from tests.support.rehearsal.reports import text

CALM = Moves(ref="main", commit="1a2b3c4d5e6f7a8b", snapshot=None, jobs=16)
ROUGH = Moves(
    ref="main",
    commit="1a2b3c4d5e6f7a8b",
    snapshot="jobs.yaml",
    jobs=16,
    not_running=("research/gang-3: it runs on p5e-1, which the twin does not have.",),
    ended=(
        EndedJob(
            name="research/train",
            pool="dgx",
            node="dgx-01",
            gpus=8,
            gpu_hours_lost=24.0,
            usd=70.5,
            at_s=12.0,
            again_on=("dgx-02",),
        ),
    ),
    waited=(Waited(job="default/features", node="cpu-1"),),
    machines=(
        MachineMove(name="cpu-1", pool="cpu", what="drained", at_s=2.0),
        MachineMove(name="cpu-1", pool="cpu", what="replaced", at_s=6.0),
    ),
    due=(Due(pool="dgx", machines=("dgx-01", "dgx-02")),),
    replaced=(
        Replaced(resource="Server cpu-1", fields=("userData", "image")),
        Replaced(resource="Volume data", fields=("size",)),
        Replaced(resource="Server cpu-2", fields=("image", "userData")),
    ),
    shortages=(Shortage(pool="dgx", held=16, least=8, seconds=6.0),),
)


def test_a_change_that_touches_nothing_is_five_short_lines() -> None:
    assert five_lines(CALM, "prod") == (
        "Jobs: 0 of 16 ended.",
        "Machines: none replaced, reinstalled, rebooted or drained.",
        "Reinstallation: no machine waits for one.",
        "Fields: each changed in place.",
        "Capacity: never below what queues hold; 0.00 USD.",
    )


def test_a_rough_change_says_what_it_takes() -> None:
    assert five_lines(ROUGH, "prod") == (
        (
            "Jobs: 1 of 16 ended, 1 started again: research/train on dgx-01 at 12 s; 24.0 "
            "GPU-hours lost; drains wait for the end of default/features; 1 not started in the "
            "twin, such as research/gang-3: it runs on p5e-1, which the twin does not have."
        ),
        "Machines, in their order: 1 drained and replaced: cpu-1.",
        (
            "Reinstallation, not part of the update: `fleet reinstall prod dgx` takes 2, one at a "
            "time: dgx-01, dgx-02."
        ),
        (
            "Fields that cannot change in place: image, userData of Server cpu-1, Server cpu-2; "
            "size of Volume data."
        ),
        (
            "Capacity: dgx had 8 GPUs of the 16 that its queues hold for 6 s of the twin's own "
            "time; 70.50 USD."
        ),
    )


BUDGET = "No allowed disruptions for disruption reason Drifted due to blocking budget"
STAYS = Drifted(
    name="ip-10-51-0-10",
    pool="burst",
    node_pool="burst-reserved",
    reason="AMIDrift",
    blocked=BUDGET,
    by_budget=True,
    jobs=("research-burst/rl",),
)


def test_rented_machines_that_stay_are_no_replacements_and_have_their_reason() -> None:
    other = replace(STAYS, name="ip-10-51-0-11", node_pool="burst-spot")
    kept = replace(CALM, gangs=12, drifted=(STAYS, other))
    assert five_lines(kept, "prod")[1] == (
        "Machines: none replaced, reinstalled, rebooted or drained. 2 rented machines stay as "
        "before (AMIDrift) until empty, with 1 job, because the budget of burst-reserved and "
        "burst-spot allows no replacement: ip-10-51-0-10, ip-10-51-0-11."
    )
    assert one_line(kept, "prod")[1] == (
        "from 1a2b3c4d5e6f with 16 running jobs (12 gangs): none ended, 2 rented stay as before"
    )
    said = [line for line in whole(kept, "prod") if line.startswith("stays as before")]
    assert said[0] == (
        "stays as before: ip-10-51-0-10 of burst-reserved, AMIDrift, runs research-burst/rl: "
        f"{BUDGET}"
    )


def test_rented_machines_that_no_budget_holds_are_only_not_replaced_yet() -> None:
    pending = replace(STAYS, by_budget=False, blocked="")
    (job,) = ROUGH.ended
    ends = replace(job, name="research-burst/rl", node=pending.name, again_on=(), to_come=True)
    moves = replace(CALM, drifted=(pending,), ended=(ends,))
    lines = five_lines(moves, "prod")
    assert lines[1] == (
        "Machines: none replaced, reinstalled, rebooted or drained. 1 rented machine is still to "
        "be replaced (AMIDrift), with 1 job: Karpenter is not done after 3 min: ip-10-51-0-10."
    )
    assert lines[0].startswith(
        "Jobs: 1 of 16 ended, 0 started again, 1 still to end as Karpenter is not done after 3 "
        "min: research-burst/rl on ip-10-51-0-10 still to end; 24.0 GPU-hours lost"
    )
    assert not any("until empty" in line for line in lines)
    assert "1 rented not replaced yet" in one_line(moves, "prod")[1]
    assert not any("research-burst/rl ended" in line for line in whole(moves, "prod"))


def test_where_only_gangs_run_the_report_speaks_of_gangs() -> None:
    gangs = replace(CALM, gangs=16)
    assert five_lines(gangs, "prod")[0] == "Gangs: 0 of 16 ended."
    assert "with 16 running gangs" in one_line(gangs, "prod")[1]


def test_a_gang_that_was_started_again_twice_is_said_so() -> None:
    (job,) = ROUGH.ended
    gang = replace(job, gang=True, times=2, gpus=16, again_on=("dgx-02", "dgx-03"))
    line = five_lines(replace(ROUGH, gangs=1, ended=(gang,)), "prod")[0]
    assert line.startswith(
        "Jobs: 1 of 16 (1 gang) ended, 1 started again: research/train (a gang of 16 GPUs) on "
        "dgx-01 at 12 s, 2 times; "
    )


def test_a_price_that_is_not_known_is_said_so() -> None:
    (job,) = ROUGH.ended
    unknown = replace(ROUGH, ended=(job, replace(job, name="research/x", usd=None)))
    without = "70.50 USD without the machine of research/x (no price known)"
    assert five_lines(unknown, "prod")[4].endswith(f"; {without}.")
    assert without in one_line(unknown, "prod")[1]


def test_the_short_report_has_one_line_of_it() -> None:
    assert one_line(CALM, "prod") == ("good", "from 1a2b3c4d5e6f with 16 running jobs: none ended")
    mark, told = one_line(ROUGH, "prod", passed=False)
    assert mark == "bad"
    assert one_line(ROUGH, "prod")[0] == "warning", "within what is allowed"
    unsure = replace(CALM, not_running=ROUGH.not_running)
    assert one_line(unsure, "prod")[0] == "warning"
    assert told == (
        "from 1a2b3c4d5e6f with 16 running jobs: 1 ended, 1 machine drained and replaced, "
        "2 wait for `fleet reinstall prod`, 70.50 USD, 1 job not started"
    )
    short = Report(environment="prod", moves=ROUGH)
    assert len(list(render_short(short).renderables)) - 1 == len(
        list(render_short(Report(environment="prod")).renderables)
    )


def test_the_whole_report_has_every_event_in_its_order() -> None:
    events = [line for line in whole(ROUGH, "prod") if " s  " in line]
    assert [line.split("  ")[-1] for line in events] == [
        "cpu-1 drained",
        "cpu-1 replaced",
        "research/train ended on dgx-01",
    ]
    shown = text(Report(environment="prod", moves=ROUGH))
    assert "cpu-1 replaced" in shown
    assert "not started: research/gang-3" in shown


def test_a_report_reads_what_it_wrote() -> None:
    report = Report(environment="prod", moves=ROUGH)
    assert Report.from_json(json.dumps(report.as_json())) == report
