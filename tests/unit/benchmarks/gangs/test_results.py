"""Rows of the matrix: what is too many, what is right, and which of earlier runs are kept."""

from pathlib import Path

import pytest

from benchmarks.gangs.results import Measured, Row, merged, read, starts, text, too_many
from benchmarks.gangs.scenarios import FULL, QUEUES, SCENARIOS


def row(scenario: str, **values: float | None) -> Row:
    usual = {"started": 1, "seconds": 12.0, "rounds": 1, "made": 3, "evictions": 0}
    return Row(scenario=scenario, **{**usual, **values})  # type: ignore[arg-type]  # by name


def measured(*rows: Row, **values: str) -> Measured:
    usual = {"name": "volcano", "title": "Volcano 1", "kubernetes": "1.36.3", "karpenter": "1"}
    return Measured(rows=rows, **{**usual, **values})  # type: ignore[arg-type]  # by name


def test_machines_beyond_what_a_scenario_needs_are_too_many() -> None:
    assert too_many(row("nothing-idle", made=3)) == 0
    assert too_many(row("nothing-idle", made=5)) == 2
    assert too_many(row("rented-idle", made=0)) == 0


def test_every_machine_for_a_gang_without_room_is_too_many() -> None:
    assert too_many(row("limit", made=2, started=0)) == 2
    assert too_many(row("full-queue", made=2, started=0)) == 2


def test_a_gang_without_room_is_right_to_wait() -> None:
    assert starts(row("limit", started=0))
    assert not starts(row("nothing-idle", started=0))
    assert starts(row("two-gangs", started=1))


def test_a_run_of_one_scenario_replaces_that_row_alone() -> None:
    old = measured(row("nothing-idle", made=4), row("limit", made=2))
    (found,) = merged([old], measured(row("nothing-idle")))
    assert [each.made for each in found.rows] == [3, 2]


def test_rows_keep_the_order_of_the_scenarios() -> None:
    (found,) = merged([measured(row("limit"))], measured(row("nothing-idle")))
    assert [each.scenario for each in found.rows] == ["nothing-idle", "limit"]


@pytest.mark.parametrize("changed", ["title", "kubernetes", "karpenter"])
def test_a_run_of_another_version_drops_the_rows_of_the_old_one(changed: str) -> None:
    old = measured(row("limit"), **{changed: "0.1"})
    (found,) = merged([old], measured(row("nothing-idle")))
    assert [each.scenario for each in found.rows] == ["nothing-idle"]


def test_a_scheduler_that_works_again_is_missing_no_more() -> None:
    (found,) = merged([measured(missing="not built")], measured(row("limit")))
    assert not found.missing
    assert found.rows


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept = (measured(row("limit", seconds=None)), measured(name="kueue", missing="not built"))
    (tmp_path / "results.json").write_text(text(kept))
    assert read(tmp_path / "results.json") == kept
    assert read(tmp_path / "none.json") == ()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_a_scenario_says_what_its_own_figures_come_to(scenario: object) -> None:
    """`can_start` and `needed` follow from what there is and from what is asked for."""
    one = next(each for each in SCENARIOS if each is scenario)
    members = {gang.members for gang in one.gangs}
    (size,) = members
    rentable = one.reserved + one.on_demand + (0 if one.sold_out else one.spot)
    queued = QUEUES[one.gangs[0].queue] - (one.before.members if one.before else 0)
    room = min(rentable + one.idle_owned, queued)
    fits = min(room // size, len(one.gangs))
    assert one.can_start == fits
    idle = one.idle_rented + one.idle_owned
    replaced = 1 if one.interrupted else 0
    assert one.needed == max(0, fits * size - idle) + replaced


def test_the_full_queue_is_full() -> None:
    (scenario,) = (each for each in SCENARIOS if each.name == "full-queue")
    assert scenario.before
    assert scenario.before.members == QUEUES[FULL]
