"""What commands print: no trailing blanks, marks before their text, ASCII where it must be."""

import io
import sys

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from engine import console
from engine.ascii_output import print_what_the_output_can
from engine.console import behind
from engine.tables import Widest, table


def shown(thing: RenderableType, width: int, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    Console(width=width, file=file).print(thing)
    file.seek(0)
    return file.read()


def test_no_line_ends_with_blanks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    made = table("Pool", "Kind")
    made.add_row("burst", "a")
    made.add_row("cpu", "a longer kind")
    console.show(Text("Pools"), made, behind("!", "red", Text("short")))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Pools", "Pool   Kind"]
    assert lines[2:] == ["─" * 20, "burst  a", "cpu    a longer kind", "! short"]


def test_lines_behind_a_mark_begin_below_its_first() -> None:
    assert shown(behind("!", "", Text("one two three")), 9).splitlines() == [
        "! one two",
        "  three  ",
    ]


def test_the_widest_form_that_fits_is_shown() -> None:
    forms = [Text("x" * 40), Text("y" * 20), Text("z" * 10)]
    assert [shown(Widest(forms), width)[0] for width in (40, 39, 19)] == ["x", "y", "z"]


def test_a_table_breaks_its_cells_between_words_before_it_breaks_a_whole_column() -> None:
    made = table("CPUs", "What", whole=("CPUs",))
    made.add_row("58-111,170-223", "what these are for")
    assert "58-111,170-223  what these" in shown(made, 30)


def test_signs_that_an_encoding_lacks_are_written_as_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, "ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    print_what_the_output_can()
    sys.stdout.write("✓ 8 \N{MULTIPLICATION SIGN} H200 \N{EN DASH} … → ü")
    assert raw.getvalue() == b"+ 8 x H200 - ... -> ?"


def test_a_table_has_the_same_form_in_ascii() -> None:
    made = table("Pool", "GPUs", right=("GPUs",))
    made.add_row("dgx", "16")
    utf8 = shown(made, 40)
    print_what_the_output_can()  # makes the handler of errors known
    file = io.TextIOWrapper(io.BytesIO(), "ascii", errors="fleet-in-ascii")
    Console(width=40, file=file).print(made)
    file.seek(0)
    assert file.read() == utf8.replace("─", "-")
