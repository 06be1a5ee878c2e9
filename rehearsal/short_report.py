"""The report on one screen of a terminal, the verdict first."""

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.console import behind
from engine.tables import Widest, table
from rehearsal import digest
from rehearsal.changes import rows
from rehearsal.digest import Broken, Line, Mark, PoolRow
from rehearsal.faults.words import lines as fault_lines
from rehearsal.report import Report

FROM_IGNITION = "bold cyan"
MARKS: dict[Mark, tuple[str, str]] = {
    "good": ("✓", "green"),
    "bad": ("✗", "red"),
    "warning": ("!", "yellow"),
    "plain": (" ", ""),
}
ALL = " (--all)"
NO_CHANGE = "Nothing has changed since the last rehearsal."


def render_short(report: Report) -> Group:
    """The report on one screen."""
    return Group(*_parts(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text()
    yield verdict(report)
    yield from pools(report)
    told = [*digest.advice(report), *digest.warnings(report)]
    found = [*faults(report), *map(_line, told)]
    if found:
        yield Text()
        yield from found
    yield Text()
    if cost := digest.cost(report):
        yield behind(" ", "", Text(cost))
    for each in digest.versions(report):
        yield behind("!", "yellow", Text(f"{each}."))
    if jobs := digest.smoke(report):
        yield _line(replace(jobs, more=()), ALL)
    lines = (
        digest.controllers(report),
        digest.kills(report),
        digest.ending(report),
    )
    yield from (_line(line) for line in lines if line)
    if short := digest.shortened(report):
        yield _line(short, ALL)
    yield from (_line(line) for line in fault_lines(report.faults))
    yield from (_line(line, ALL) for line in digest.counts(report))
    if left := digest.not_rehearsed(report):
        yield behind(" ", "", Text(f"Not rehearsed: {left}{ALL}"))
    if moved := digest.moves(report):
        yield _line(moved, ALL)
    yield from changes(report)


def verdict(report: Report) -> Text:
    """The verdict, in bold."""
    return Text(digest.headline(report), style="bold green" if report.passed else "bold red")


def pools(report: Report, *, whole: bool = False) -> Iterator[RenderableType]:
    """The table of pools, with as many columns as fit; all of them where it is to be `whole`."""
    if not report.pools:
        return
    yield Text()
    if note := digest.plan_note(report):
        yield Text(note, style="dim")
    rows = digest.pool_rows(report)
    widest = [_pool_table(rows, hardware=True, numa=True)] if whole else []
    narrower = [_pool_table(rows, hardware=True), _pool_table(rows), _pool_table(rows, least=True)]
    yield Widest([*widest, *narrower])


def _pool_table(
    rows: list[PoolRow], *, hardware: bool = False, numa: bool = False, least: bool = False
) -> Table:
    """`numa` shows NUMA nodes and huge pages, `least` what nobody can do without."""
    columns = {"Pool": "pool"} if least else {"Site": "site", "Pool": "pool"}
    columns |= {"Hardware": "hardware"} if hardware else {}
    columns |= {"Nodes": "nodes"} if least else {"Nodes": "nodes", "Pod CPUs": "pod_cpus"}
    columns |= {"NUMA nodes": "numa"} if numa else {}
    columns |= {"GPUs": "gpus"}
    columns |= {"Hugepages": "hugepages"} if numa else {}
    columns |= {"USD/h": "usd_per_hour"}
    made = table(*columns, right=("Nodes", "Pod CPUs", "USD/h"), whole=("GPUs",))
    for column in made.columns:
        if column.header in ("Pod CPUs", "Hugepages"):
            column.header_style = FROM_IGNITION if numa else ""
    for row in rows:
        cells = (Text(getattr(row, field)) for field in columns.values())
        made.add_row(*cells, style="red" if row.down else "")
    return made


def changes(report: Report) -> Iterator[RenderableType]:
    """What a rehearsal of a kept twin has changed."""
    if report.changes is None:
        return
    told = list(rows(report.changes))
    yield Text()
    yield Text("Since the last rehearsal:" if told else NO_CHANGE)
    yield from (behind(f"  {what:<8}", "", Text(text)) for what, text in told)


def faults(report: Report) -> Iterator[RenderableType]:
    """What is broken, each with what to change, and any other problem."""
    for each in digest.broken(report):
        yield behind("✗", "red", Group(*_fault(each, report.environment)))
    for problem in report.other_problems:
        yield behind("✗", "red", Text(problem, style="red"))


def _fault(found: Broken, environment: str) -> Iterator[RenderableType]:
    shown = found.sentences[: digest.FAULTS_SHOWN]
    more = len(found.sentences) - len(shown)
    told = " ".join([*shown, *([f"And {more} more."] if more else [])])
    also = f" The same of {', '.join(found.others)}." if found.others else ""
    yield Text.assemble((f"{found.rule}: ", "bold"), told + also)
    if found.keys:
        yield Text(f"To change in stacks/Pulumi.{environment}.yaml:")
        yield from (Text(f"  {key}", style="cyan", overflow="fold") for key in found.keys)


def _line(line: Line, tail: str = "") -> Table:
    mark, style = MARKS[line.mark]
    more = f" (and {len(line.more)} more)" if line.more else ""
    about = f"{line.about}{more}: " if line.about else ""
    return behind(mark, style, Text.assemble((about, "bold"), line.text, (tail, "dim")))
