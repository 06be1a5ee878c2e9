"""The report on one screen, from reports that rehearsals of dev have written.

    GOLDEN=write .venv/bin/pytest tests/unit/rehearsal/test_short_report.py && git diff tests

writes the expected texts anew.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import RenderableType

from engine.console import show
from rehearsal.changes import Changes
from rehearsal.report import Report
from rehearsal.short_report import render_short
from rehearsal.tables import render

HERE = Path(__file__).parent
KEYS = (
    "gpu-fleet:pools.burst.consolidate_after_minutes",
    "gpu-fleet:policies.idle/gpu-node-pool.max_consolidate_after_minutes",
)


def recorded(name: str) -> Report:
    return Report.from_json((HERE / "recorded" / f"{name}.json").read_text())


Printed = Callable[[RenderableType, int], str]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    def text(thing: RenderableType, width: int) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        show(thing)
        return capsys.readouterr().out

    return text


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("name", ["passed", "broken"])
def test_the_report_is_the_expected_text(printed: Printed, name: str, width: int) -> None:
    found = printed(render_short(recorded(name)), width)
    path = HERE / "golden" / f"{name}-{width}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(found)
    assert found == path.read_text(), "see the top of this file"


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("form", [render_short, render])
@pytest.mark.parametrize("name", ["passed", "broken"])
def test_no_line_is_too_wide_or_ends_with_blanks(
    printed: Printed, form: Callable[[Report], RenderableType], name: str, width: int
) -> None:
    lines = printed(form(recorded(name)), width).splitlines()
    assert [line for line in lines if len(line) > width or line != line.rstrip()] == []


@pytest.mark.parametrize("width", [80, 120, 200])
def test_an_advisory_is_told_whole_with_its_lines_below_each_other(
    printed: Printed, width: int
) -> None:
    report = recorded("passed")
    lines = printed(render_short(report), width).splitlines()
    assert "…" not in "".join(lines)
    for text in report.warnings:
        first = next(at for at, line in enumerate(lines) if line.startswith(f"! {text[:30]}"))
        rest = lines[first + 1 : first + 1 + len(text) // (width - 12)]
        told = [lines[first], *(line for line in rest if line.startswith("  "))]
        assert text in " ".join(line[2:] for line in told)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_what_has_changed_hangs_below_its_first_word(printed: Printed, width: int) -> None:
    names = tuple(f"BootstrapToken research-dgx-0{number}-token" for number in range(6))
    changes = Changes(
        resources={"created": names},
        nodes_added=("cpu-4",),
        nodes_removed=(),
        usd_per_hour_before=1.0,
        usd_per_hour=2.0,
    )
    text = printed(render_short(replace(recorded("passed"), changes=changes)), width)
    lines = text[text.index("Since the last rehearsal:") :].splitlines()[1:]
    created = lines[: len(lines) - 2]
    assert created[0].startswith("  created  BootstrapToken research-dgx-00-token")
    assert {line[:11] for line in created[1:]} == {" " * 11}
    assert len(created) > 1
    assert lines[-2:] == [
        "  nodes    + cpu-4",
        "  cost     1.00 → 2.00 USD per hour (+24.00 per day)",
    ]


def test_nothing_that_has_changed_is_one_sentence(printed: Printed) -> None:
    none = Changes(
        resources={}, nodes_added=(), nodes_removed=(), usd_per_hour_before=1.0, usd_per_hour=1.0
    )
    text = printed(render_short(replace(recorded("passed"), changes=none)), 80)
    assert text.endswith("\n\nNothing has changed since the last rehearsal.\n")


def test_the_short_report_fits_a_screen_and_has_the_verdict_first(printed: Printed) -> None:
    lines = printed(render_short(recorded("passed")), 120).strip().splitlines()
    assert lines[0].startswith("dev passed: 5 nodes Ready, 16 GPUs, ")
    assert len(lines) <= 29


def test_a_broken_rule_names_the_keys_to_change_once_for_all_capacities(printed: Printed) -> None:
    text = printed(render_short(recorded("broken")), 80)
    assert text.strip().startswith("dev failed: 1 rule broken.")
    for key in KEYS:
        assert [line.strip() for line in text.splitlines()].count(key) == 1
    assert " ".join(text.split()).count("it must be at most 5m.") == 1
    assert "NodePool 'burst-spot'" in text
    assert "NodePool 'burst-reserved'" in text
    assert "follow the fleet's rules" not in text


def test_a_report_of_a_broken_rule_shows_pools_and_cost_as_planned(printed: Printed) -> None:
    text = printed(render_short(recorded("broken")), 120)
    table = text[: text.index("✗ ")].splitlines()
    rows = {line.split()[1]: line.split()[-1] for line in table if " p5e" in line}
    assert rows == {"burst": "0.00"}
    assert "38.32 USD per hour for what is always on" in text


def test_a_rule_that_was_not_asked_in_the_end_is_named(printed: Printed) -> None:
    report = recorded("broken")
    waits = next(rule.rule for rule in report.verdicts if rule.state == "not checked")
    assert waits not in printed(render_short(report), 120), "`up` has not run"
    assert f"! {waits} (and" in printed(render_short(replace(report, resources={})), 120)


def test_keys_name_a_pool_as_the_stack_file_does(printed: Printed) -> None:
    report = recorded("broken")
    renamed = tuple(
        replace(pool, title="surge") if pool.name == "burst" else pool for pool in report.pools
    )
    text = printed(render_short(replace(report, pools=renamed)), 120)
    assert "gpu-fleet:pools.surge.consolidate_after_minutes" in text


def test_the_whole_report_names_what_the_short_one_counts(printed: Printed) -> None:
    report = recorded("passed")
    text = " ".join(printed(render(report), 200).split())
    for verdict in report.verdicts:
        assert f"{verdict.sentence} {verdict.rule}, {verdict.level}" in text
    for chart in report.charts_not_rehearsed:
        assert f"chart {chart.name} {chart.version}: " in text
    for kind, number in (report.resources or {}).items():
        assert f"{number} {kind.split(':', 2)[2]} " in text


def test_a_report_is_read_back_as_it_was_written() -> None:
    for name in ("passed", "broken"):
        report = recorded(name)
        text = (HERE / "recorded" / f"{name}.json").read_text()
        assert Report.from_json(text) == report
        assert Report.from_json(text).as_json() == report.as_json()
