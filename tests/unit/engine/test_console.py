"""How wide results are printed."""

import os

import pytest
from rich.table import Table

from engine import console


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "isatty", lambda _stream: False)


def test_what_nobody_watches_has_room_for_tables() -> None:
    assert console.results().width == console.WIDTH


def test_who_says_how_wide_a_pipe_is_gets_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert console.results().width == 100


def test_no_width_at_all_leaves_room_for_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert console.results().width == console.NARROWEST


def test_a_value_in_brackets_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("Queue")
    table.add_row("[bold]research[/x]")
    console.show(table)
    assert "[bold]research[/x]" in capsys.readouterr().out


def test_behind_a_pipe_the_terminal_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda stream: stream == 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _stream: os.terminal_size((93, 40)))
    assert console.results().width == 93
