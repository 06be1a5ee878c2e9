"""Renders a check as tables: the violations with place and reason, and the exemptions."""

from collections import Counter
from collections.abc import Iterator, Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fleet.check.judging import Checked
from policies.verdicts import Finding, State, Verdict

MARKS: Mapping[State, tuple[str, str]] = {
    "violated": ("\N{BALLOT X}", "red"),
    "advisory": ("!", "yellow"),
    "exempt": ("!", "dim"),
}
USES = {"expired": "over", "used": "in use"}
"""Of an exemption; those of objects that are not among the checked ones are left out."""


def checked_table(checked: Checked) -> Group:
    """Renders the check; only its last line if every rule holds."""
    return Group(*_parts(checked))


def _parts(checked: Checked) -> Iterator[RenderableType]:
    if checked.verdicts:
        yield _found(checked)
        yield from map(_reason, checked.verdicts)
    if any(one.use in USES for one in checked.exemptions):
        yield _exemptions(checked)
    if checked.unjudged:
        yield _unjudged(checked)
    yield _summary(checked)


def _unjudged(checked: Checked) -> Table:
    table = _table("?", "Where", "Asks for GPUs, and is not judged in")
    for each in checked.unjudged:
        where = f"{each.resource.file}:{each.resource.line}\n{each.resource}"
        table.add_row("?", Text(where), Text("\n".join(each.what)), style="yellow")
    return table


def _found(checked: Checked) -> Table:
    table = _table("", "Where", "Rule", "What")
    for finding in checked.findings:
        mark, style = MARKS[finding.state]
        file, line = checked.place(finding)
        template = finding.resource.template if finding.resource else ""
        where = f"{file}:{line}" + (f"\n{template}" if template else "")
        for sentence in finding.sentences:
            cells = (where, finding.rule, sentence + _exempt(finding))
            table.add_row(Text(mark, style), *map(Text, cells))
    return table


def _exempt(finding: Finding) -> str:
    one = finding.exemption
    return f" Exempt, {one.owner}: {one.reason}." if one and finding.state == "exempt" else ""


def _reason(verdict: Verdict) -> Text:
    return Text.assemble((f"{verdict.rule}: ", "bold"), f"{verdict.why} See {verdict.source}")


def _exemptions(checked: Checked) -> Table:
    table = _table("Exemption", "Of", "Owner", "Reason", "Until", "")
    for one in (each for each in checked.exemptions if each.use in USES):
        style = "red" if one.use == "expired" else ""
        cells = (one.rule, one.resource, one.owner, one.reason, one.until, USES[one.use])
        table.add_row(*map(Text, cells), style=style)
    return table


def _summary(checked: Checked) -> Text:
    counts = Counter(
        finding.state for finding in checked.findings for _sentence in finding.sentences
    )
    told = ", ".join(f"{counts[state]} {state}" for state in MARKS if counts[state])
    others = f"; {_count(checked.others, 'other document')} left out" if checked.others else ""
    held = "nothing is broken in what can be read" if checked.unreadable else "all rules hold"
    if checked.unjudged:
        left = f"{_count(len(checked.unjudged), 'object')} with GPUs not judged, or only in part"
        others = f", {left}{others}"
        held = "nothing is broken in what can be judged"
    good = "bold yellow" if checked.unjudged else "bold green"
    style = (good, "bold red", "bold red")[checked.code]
    objects = f"{_count(checked.objects, 'object')} against {checked.environment}"
    return Text(f"{objects}: {told or held}{others}.", style=style)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold")
    return table
