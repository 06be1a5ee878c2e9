"""What the report says of kills and of the end of an environment."""

import json
from dataclasses import replace

from rehearsal import digest
from rehearsal.ending import Ending
from rehearsal.kills import Kill, Kills
from rehearsal.report import Report
from tests.support.rehearsal.reports import text

SERVER = "Server cpu-1"
KILL = Kill(made=40, found=(SERVER,), not_there=("Secret a",), useless=(), seconds=4.2)
KILLS = Kills(seed=7, resources=220, kills=(KILL,), restarted=("kwok",))
ENDING = Ending(resources=180, seconds=12.0, protected={"dgx": "2 BareMetalHost"})
REPORT = Report(environment="dev", kills=KILLS, ending=ENDING)


def line(report: Report, about: str) -> tuple[str, str]:
    (found,) = [
        each
        for each in (digest.kills(report), digest.ending(report))
        if each and each.about == about
    ]
    return found.mark, found.text


def test_kills_that_did_no_harm_are_a_line_with_the_seed() -> None:
    assert line(REPORT, "kills") == (
        "good",
        (
            "the engine 1 time (seed 7), 1 controller; 1 create found, 1 made again; "
            "nothing doubled, orphaned or missing"
        ),
    )
    assert [*KILLS.problems()] == []


def test_what_a_kill_has_doubled_is_a_problem_by_name() -> None:
    harmed = replace(KILLS, doubled=(SERVER,), changes=("update Secret a",))
    mark, told = line(replace(REPORT, kills=harmed), "kills")
    assert (mark, told.endswith("harm done")) == ("bad", True)
    assert [*harmed.problems()] == [
        "After the kills (seed 7), in its cloud twice: Server cpu-1.",
        (
            "After the kills (seed 7), changed by an update that should find nothing to do: "
            "update Secret a."
        ),
    ]


def test_an_end_names_what_was_protected_and_what_is_left() -> None:
    assert line(REPORT, "destroy") == (
        "good",
        "180 resources gone in 12 s, dgx by name; nothing left",
    )
    held = replace(ENDING, hanging=("NodeClaim burst-1 (karpenter.sh/termination)",))
    assert line(replace(REPORT, ending=held), "destroy")[0] == "bad"
    assert [*held.problems()] == [
        "After `fleet destroy` finalizers hold: NodeClaim burst-1 (karpenter.sh/termination)."
    ]


def test_kills_after_which_the_update_did_not_go_on_are_no_harmless_ones() -> None:
    mark, told = line(replace(REPORT, kills=replace(KILLS, unfinished=True)), "kills")
    assert (mark, told.endswith("the update did not go on")) == ("bad", True)
    assert "(seed 7)" in told


def test_an_end_that_failed_says_why_and_what_hangs() -> None:
    hangs = replace(
        ENDING,
        failed="fleet destroy: 1 rented machine is still there: burst-1.",
        left=tuple(f"Secret {number}" for number in range(30)),
        hanging=("NodeClaim burst-1 (karpenter.sh/termination)",),
    )
    mark, told = line(replace(REPORT, ending=hangs), "destroy")
    assert (mark, told) == ("bad", "it did not come to its end within 12 s; 31 left")
    failed, left, hanging = hangs.problems()
    assert failed.startswith("fleet destroy: ")
    assert left.endswith("Secret 19 and 10 more.")
    assert "NodeClaim burst-1" in hanging
    shown = text(replace(REPORT, ending=hangs))
    assert "not gone after 12.0 s: fleet destroy: 1 rented machine is still there" in shown


def test_an_end_says_how_many_machines_were_drained_and_why_none_was() -> None:
    drained = replace(ENDING, drained=("i-1", "i-2"))
    _, told = line(replace(REPORT, ending=drained), "destroy")
    assert told.startswith("2 rented machines drained, 180 resources gone")
    assert [*replace(ENDING, idle="g did not run.").problems()] == ["g did not run."]


def test_the_whole_report_has_each_kill_and_each_protected_part() -> None:
    told = text(REPORT)
    assert "at 40 of 220 resources, 4.2 s; found: Server cpu-1; made again: Secret a" in told
    assert "dgx is protected, and went because it was named (--lift dgx): 2 BareMetalHost" in told
    assert Report.from_json(json.dumps(REPORT.as_json())) == REPORT
