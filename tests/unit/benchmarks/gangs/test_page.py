"""The page of the matrix: what it says of rows, and that it is that of the results beside it."""

import pytest

from benchmarks.gangs.__main__ import KEPT, PAGE
from benchmarks.gangs.page import page, reading
from benchmarks.gangs.results import read
from benchmarks.gangs.scheduler import Scheduler
from benchmarks.gangs.schedulers import ABSENT, SCHEDULERS, kubernetes_of
from tests.unit.benchmarks.gangs.test_results import measured, row
from toolchain.build import versions


def line(text: str, begins: str) -> str:
    (found,) = [each for each in text.splitlines() if each.startswith(begins)]
    return found


def test_the_page_is_that_of_the_results_beside_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read(KEPT)), "run `make docs`"


def test_every_scheduler_has_rows_or_says_why_not() -> None:
    found = {each.name: each for each in read(KEPT)}
    assert {*found} == {*SCHEDULERS}
    assert all(each.rows or each.missing for each in found.values())


@pytest.mark.parametrize("scheduler", SCHEDULERS.values(), ids=SCHEDULERS)
def test_the_results_are_those_of_the_versions_and_settings_of_today(scheduler: Scheduler) -> None:
    (found,) = [each for each in read(KEPT) if each.name == scheduler.name]
    assert (found.title, found.kubernetes) == (scheduler.title, kubernetes_of(scheduler))
    assert found.karpenter == versions["karpenter"]
    assert (found.on, found.written) == (scheduler.on, scheduler.written), "run `make gangs`"


def test_a_scheduler_that_is_missing_is_a_row_with_the_reason() -> None:
    text = page([measured(missing="not built: no module")])
    assert "**not built: no module**" in line(text, "| Volcano 1 | 1.36.3")
    for name, reason in ABSENT.items():
        assert reason in line(text, f"| {name} |")


def test_a_gang_that_does_not_start_though_it_has_room_stands_out() -> None:
    text = page([measured(row("rented-idle", started=0, seconds=None, made=0))])
    assert line(text, "| 1 of 3 machines is there, rented").endswith("| **not in 60 s** |")


def test_machines_that_nobody_needs_stand_out() -> None:
    text = page([measured(row("limit", started=0, seconds=None, made=2))])
    assert line(text, "| the pool may have 2").endswith("| waits, **2 too many** |")


def test_a_gang_that_never_runs_again_stands_out() -> None:
    once = page([measured(row("interruption", again_s=None))])
    again = page([measured(row("interruption", again_s=21.0))])
    assert line(once, "| AWS takes back").endswith("| **not again in 60 s** |")
    assert line(again, "| AWS takes back").endswith("| 21 s |")


def test_a_row_says_its_kubernetes_and_every_column() -> None:
    text = page([measured(row("nothing-idle", rounds=2, made=4, evictions=1))])
    assert "| Volcano 1 | 1.36.3 | yes | 2 | 4 | 1 | 12.0 | 1 |" in text


def test_the_reading_follows_from_the_rows() -> None:
    bad = measured(row("full-queue", made=2, started=0), name="kueue", title="Kueue 1")
    good = measured(row("full-queue", made=0, started=0))
    lines = [*reading((bad, good))]
    (said,) = [each for each in lines if each.startswith("A full queue rents nothing")]
    assert said.startswith("A full queue rents nothing: with Volcano 1; not with Kueue 1. Else")


def test_a_scenario_that_was_not_run_proves_nothing() -> None:
    assert [*reading((measured(),))] == []
