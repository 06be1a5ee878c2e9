"""Renders the whole report: every rule, resource and chart by name."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.console import behind
from engine.tables import Widest
from policies.exemptions import ExemptionStatus, exemption_note
from policies.verdicts import Finding, State, Verdict
from rehearsal import digest
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.controller_report import ControllerReport
from rehearsal.ending import Ending
from rehearsal.faults.words import whole as fault_tables
from rehearsal.karpenter.iam_use import IamUse
from rehearsal.kills import Kills
from rehearsal.moves.words import whole
from rehearsal.report import Report, not_rehearsed
from rehearsal.short_report import FROM_IGNITION, changes, faults, pools, verdict
from rehearsal.smoke import words as smoke_words

MARKS: Mapping[State, tuple[str, str]] = {
    "held": ("✓", "green"),
    "violated": ("✗", "red"),
    "advisory": ("!", "yellow"),
    "exempt": ("!", "yellow"),
    "not checked": ("?", "yellow"),
    "disabled": ("-", "dim"),
}
NOTHING = "nothing"


def render(report: Report) -> Group:
    """The whole report."""
    return Group(*_parts(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text()
    yield verdict(report)
    yield from pools(report, whole=True)
    yield from _below_pools(report)
    sections: dict[str, Sequence[RenderableType]] = {
        "Broken": [*faults(report)],
        "Resources": [_resources(report.resources or {})] if report.resources else [],
        "Rules": [line for each in report.verdicts for line in _rule(each)],
        "Exemptions": [*map(_exemption, report.exemptions)],
        "Warnings": [behind("!", "yellow", Text(text)) for text in report.warnings],
        "Change": [*map(Text, whole(report.moves, report.environment))] if report.moves else [],
        "Jobs": [*smoke_words.whole(report.smoke)] if report.smoke else [],
        "Controllers": [*map(_controller, report.controllers)],
        "lakeFS": [*map(Text, _lakefs(report))],
        "Charts": [*_charts(report.charts)],
        "Kills": [*map(Text, _kills(report.kills))] if report.kills else [],
        "Faults": [*fault_tables(report.faults)] if report.faults else [],
        "Destroy": [*map(Text, _ending(report.ending))] if report.ending else [],
        "Not rehearsed": [
            *map(Text, not_rehearsed(report)),
        ],
        "Assumptions": [*map(Text, report.taken_as_given)],
        "Unverified catalogue data": [
            behind(f"{name}:", "", Text(", ".join(doubts)))
            for name, doubts in report.unverified.items()
        ],
        "Versions that differ from the environment's": [*map(Text, digest.versions(report))],
        "Time": [Text(" · ".join(_times(report)))],
    }
    for title, lines in sections.items():
        if lines:
            yield Text(f"\n{title}", style="bold")
            yield from (Padding(line, (0, 0, 0, 2)) for line in lines)
    yield from changes(report)


def _below_pools(report: Report) -> Iterator[RenderableType]:
    yield Text()
    decided = sorted({what for node in report.nodes for what in node.decided_by_ignition})
    if decided:
        yield Text.assemble(
            ("Taken from the boot data", FROM_IGNITION),
            f": {', '.join(decided)}. ",
            ("Everything else comes from the hardware catalogue.", "dim"),
        )
    if report.gateways:
        yield Text(f"Gateways outside the cluster: {', '.join(report.gateways)}.")
    if told := digest.cost(report):
        yield Text(told)


def _kills(done: Kills) -> Iterator[str]:
    for kill in done.kills:
        ways = {"uninstalled, half installed": kill.uninstalled, "found": kill.found}
        ways |= {"made again": kill.not_there, "useless": kill.useless}
        told = [f"{way}: {', '.join(names)}" for way, names in ways.items() if names]
        pending = "; ".join(told) or "nothing was pending"
        yield f"at {kill.made} of {done.resources} resources, {kill.seconds:.1f} s; {pending}"
    yield f"killed and started again: {', '.join(done.restarted) or NOTHING}"
    harms = {"doubled": done.doubled, "orphaned": done.orphaned, "missing": done.missing}
    for harm, names in {**harms, "changed by an update more": done.changes}.items():
        yield f"{harm}: {', '.join(names) or NOTHING}"


def _ending(done: Ending) -> Iterator[str]:
    if done.failed:
        yield f"not gone after {done.seconds:.1f} s: {done.failed}"
    else:
        yield f"{done.resources} resources gone in {done.seconds:.1f} s"
    yield f"rented machines at work when it began: {', '.join(done.drained) or NOTHING}"
    for part, kept in done.protected.items():
        yield f"{part} is protected, and went because it was named (--lift {part}): {kept}"
    if done.inside:
        yield f"gone with what they were in: {', '.join(done.inside)}"
    yield f"left: {', '.join(done.left) or NOTHING}"
    yield f"held by finalizers: {', '.join(done.hanging) or NOTHING}"


def _times(report: Report) -> Iterator[str]:
    return (f"{each.name} {each.seconds:.1f} s" for each in report.phases if each.seconds > 0.1)


def _resources(resources: Mapping[str, int]) -> Widest:
    """Lists types, the kind before its package, in two columns where they fit."""
    cells = [(str(number), *_kind(token)) for token, number in resources.items()]
    half = -(-len(cells) // 2)
    return Widest([_columns(cells[:half], cells[half:]), _columns(cells)])


def _kind(token: str) -> tuple[str, str]:
    package, module, name = token.split(":", 2)
    group = module if package == "kubernetes" else f"{package} {module.partition('/')[0]}"
    return name, group.removesuffix(" index")


def _columns(*parts: list[tuple[str, str, str]]) -> Table:
    grid = Table.grid(padding=(0, 3, 0, 0))
    for _ in parts:
        grid.add_column(no_wrap=True)
    texts = [
        [Text.assemble(f"{number:>3} {name} ", (group, "dim")) for number, name, group in part]
        for part in parts
    ]
    for row in range(len(parts[0])):
        grid.add_row(*(part[row] for part in texts if row < len(part)))
    return grid


def _rule(one: Verdict) -> Iterator[RenderableType]:
    state = "" if one.state in ("held", "disabled", one.level) else f", {one.state}"
    head = Text.assemble(f"{one.sentence} ", (f"{one.rule}, {one.level}{state}", "dim"))
    found = chain.from_iterable(map(_sentences, one.findings))
    below = (behind("-", "dim", Text(sentence)) for sentence in dict.fromkeys(found))
    yield behind(*MARKS[one.state], Group(head, *below))


def _sentences(finding: Finding) -> Iterator[str]:
    for sentence in finding.sentences:
        yield f"{sentence} {exemption_note(finding)}" if finding.state == "exempt" else sentence


def _exemption(one: ExemptionStatus) -> Table:
    ended = one.use == "expired"
    was = "was exempt" if ended else "is exempt"
    text = f"{one.resource} {was} from {one.rule} until {one.until}, {one.owner}: {one.reason}"
    unused = " not needed" if one.use == "unused" else ""
    return behind(*MARKS["violated" if ended else "exempt"], Text.assemble(text, (unused, "dim")))


def _controller(one: ControllerReport) -> Table:
    state: Literal["advisory", "held"] = "advisory" if one.missing or one.difference else "held"
    lacks = f", lacks {'; '.join(one.missing)}" if one.missing else ""
    name = f"{one.name} {one.version}".strip()
    head = f"{name}: {one.used} of {one.rights} rights used{lacks}"
    below = [one.difference] if one.difference else []
    below += [f"never used: {'; '.join(one.never_used)}"] if one.never_used else []
    below += [*_iam(one.iam)] if one.iam else []
    lines = (behind("-", "dim", Text(text)) for text in below)
    return behind(*MARKS[state], Group(Text(head), *lines))


def _iam(use: IamUse) -> Iterator[str]:
    yield f"IAM, called here, judged by no IAM: {', '.join(use.called) or 'nothing'}"
    if use.never_called:
        yield f"IAM, allowed and never called: {', '.join(use.never_called)}"
    if use.not_allowed:
        yield f"IAM, called and not allowed: {', '.join(use.not_allowed)}"


def _lakefs(report: Report) -> Iterator[str]:
    held = report.lakefs
    if held is None:
        return
    yield f"{held.endpoint or 'a fake of its API'}, administrator {held.user}"
    for each in held.repositories:
        days = [f"{branch} {days}" for branch, days in sorted(each.keep_days.items())]
        parts = [
            f"protected {', '.join(each.protected) or 'none'}",
            f"actions {', '.join(each.actions) or 'none'}",
            f"days kept {', '.join(days)}" if days else "kept for ever",
        ]
        yield f"repository {each.name} in {each.storage_namespace}: {'; '.join(parts)}"


def _charts(charts: Charts) -> Iterator[RenderableType]:
    for each in charts.rendered:
        mark, style = MARKS["violated" if each.problems else "held"]
        kinds = ", ".join(f"{number} {kind}" for kind, number in each.objects.items())
        head = Text.assemble(
            f"{each.name}: {each.chart} {each.version} ", (f"from {each.source}", "dim")
        )
        told = [*_told(each)]
        below = [behind("-", "dim", Text(text)) for text in (kinds, *told) if text]
        yield behind(mark, style, Group(head, *below))
    for room in charts.room:
        yield behind("✓" if room.is_enough else "✗", "", Text(room.sentence))
    yield from (behind("!", "yellow", Text(text)) for text in charts.images_changed)


def _told(chart: RenderedChart) -> Iterator[str]:
    yield from chart.problems
    for finding in chart.findings:
        if finding.state != "violated":
            yield from (f"{finding.rule}, {finding.state}: {one}" for one in _sentences(finding))
    yield from (each.sentence for each in chart.dependents)
    lists = {
        "hooks, not run": chart.hooks,
        "images": chart.images,
        "another text at each rendering": chart.varying,
        "asks the cluster, was told of nothing": chart.lookups,
        "no Ready node may run": chart.homeless,
    }
    yield from (f"{what}: {', '.join(each)}" for what, each in lists.items() if each)
