"""A check for people: what is broken and where, why, and which exemptions there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fleet.check.judging import Checked, Said, State

MARKS: Mapping[State, tuple[str, str]] = {
    "violated": ("\N{BALLOT X}", "red"),
    "told": ("!", "yellow"),
    "exempt": ("!", "dim"),
}
USES = {"expired": "over", "used": "in use", "unused": "not needed here"}


def checked_table(checked: Checked) -> Group:
    """The whole check; nothing but its last line where all holds."""
    return Group(*_parts(checked))


def _parts(checked: Checked) -> Iterator[RenderableType]:
    if checked.said:
        yield _said(checked.said)
        yield from _reasons(checked.said)
    if checked.exemptions:
        yield _exemptions(checked)
    yield _verdict(checked)


def _said(said: tuple[Said, ...]) -> Table:
    table = _table("", "Where", "Rule", "What")
    for one in said:
        mark, style = MARKS[one.state]
        where = f"{one.file}:{one.line}" + (f"\n{one.source}" if one.source else "")
        leave = f" Exempt, {one.leave}." if one.state == "exempt" else ""
        table.add_row(Text(mark, style), *map(Text, (where, one.rule.id, one.sentence + leave)))
    return table


def _reasons(said: tuple[Said, ...]) -> Iterator[RenderableType]:
    for rule in {one.rule.id: one.rule for one in said}.values():
        yield Text.assemble((f"{rule.id}: ", "bold"), f"{rule.why} See {rule.source}")


def _exemptions(checked: Checked) -> Table:
    table = _table("Exemption", "Of", "Owner", "Reason", "Until", "")
    for one in checked.exemptions:
        style = "red" if one.use == "expired" else ""
        cells = (one.rule, one.resource, one.owner, one.reason, one.until, USES[one.use])
        table.add_row(*map(Text, cells), style=style)
    return table


def _verdict(checked: Checked) -> Text:
    counts = {
        state: sum(one.state == state for one in checked.said)
        for state in ("violated", "told", "exempt")
    }
    told = ", ".join(
        f"{number} {words}"
        for number, words in (
            (counts["violated"], "mandatory"),
            (counts["told"], "advisory"),
            (counts["exempt"], "exempt"),
        )
        if number
    )
    others = f"; {_count(checked.others, 'other document')} left out" if checked.others else ""
    held = "nothing is broken in what can be read" if checked.unreadable else "all rules hold"
    style = ("bold green", "bold red", "bold red")[checked.code]
    objects = f"{_count(checked.objects, 'object')} against {checked.environment}"
    return Text(f"{objects}: {told or held}{others}.", style=style)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold")
    return table
