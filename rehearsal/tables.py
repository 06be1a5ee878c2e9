"""Renders the report as tables that fit 100 columns; equal nodes share a row."""

from collections import Counter
from collections.abc import Iterator, Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from policies.exemptions import ExemptionStatus, exemption_note
from policies.verdicts import Finding, State, Verdict
from rehearsal.report import NodeFacts, Pool, Report

FROM_IGNITION = "bold cyan"
MARKS: Mapping[State, str] = {
    "held": "[green]✓[/]",
    "violated": "[red]✗[/]",
    "advisory": "[yellow]![/]",
    "exempt": "[yellow]![/]",
    "not checked": "[yellow]?[/]",
    "disabled": "[dim]-[/]",
}
RECORDED = "recorded, not installed"
TIMES = " \N{MULTIPLICATION SIGN} "
NOTHING = "\N{EN DASH}"


def render(report: Report) -> Group:
    """The whole report."""
    return Group(*_parts(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text()
    if report.pools:
        yield _pools(report)
        yield from _decided(report)
    if report.resources is not None:
        yield _section("Resources")
        yield _resources(report.resources)
        yield _section("Rules")
        yield _rules(report.verdicts)
    if report.exemptions:
        yield _section("Exemptions")
        yield from map(_exemption, report.exemptions)
    if report.warnings:
        yield _section("Warnings")
        yield from (_line(f"[yellow]![/] {escape(warning)}") for warning in report.warnings)
    yield from _notes(report)
    yield _section("Time")
    yield _line(" · ".join(f"{p.name} {p.seconds:.1f} s" for p in report.phases if p.seconds > 0.1))
    yield Text()
    yield _verdict(report)


def _section(title: str) -> Text:
    return Text(f"\n{title}", style="bold")


def _line(text: str) -> Padding:
    return Padding(Text.from_markup(text), (0, 0, 0, 2))


def _pools(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=False)
    for title in ("Site", "Pool", "Hardware"):
        table.add_column(title, overflow="fold")
    table.add_column("Nodes", justify="right", no_wrap=True)
    table.add_column(f"[{FROM_IGNITION}]Pod CPUs", justify="right", no_wrap=True)
    table.add_column("NUMA nodes")
    table.add_column("GPUs", no_wrap=True)
    table.add_column(f"[{FROM_IGNITION}]Hugepages")
    table.add_column("USD/h", justify="right", no_wrap=True)
    for pool in report.pools:
        for row in _rows(pool, report.nodes):
            table.add_row(pool.site, pool.name, pool.hardware, *row)
    return table


def _rows(pool: Pool, nodes: tuple[NodeFacts, ...]) -> Iterator[tuple[str, ...]]:
    """Yields a row for each kind of node in the pool; one for a pool without nodes."""
    kinds = Counter(_facts(node) for node in nodes if node.pool == pool.name)
    if not kinds:
        boots = "boot data ok" if pool.boot_data_ok else "[red]boot data refused[/]"
        bounded = pool.gpu_limit is not None
        count = "0" if bounded else f"[red]0 of {pool.nodes_wanted}[/]"
        yield (count, "", boots, f"≤ {pool.gpu_limit}" if bounded else "", "", "0.00")
    for position, (facts, number) in enumerate(kinds.items()):
        whole = len(kinds) == 1 and number == pool.nodes_wanted
        ready = str(number) if whole else f"{number} of {pool.nodes_wanted}"
        price = _usd(pool.usd_per_hour) if position == 0 else ""
        yield (ready, *facts, price)


def _facts(node: NodeFacts) -> tuple[str, ...]:
    numa = Counter((_count(n.cpus), _memory(n.memory_gib)) for n in node.numa)
    model = (node.gpu_model or "").removeprefix("NVIDIA ")
    return (
        f"{node.allocatable.get('cpu', '?')}/{node.cpus}",
        ", ".join(f"{n}{TIMES}{cpus} CPUs, {memory}" for (cpus, memory), n in numa.items()),
        f"{node.gpus}{TIMES}{model}" if node.gpus else NOTHING,
        ", ".join(f"{sum(n)}{TIMES}{size}" for size, n in node.hugepages.items()) or NOTHING,
    )


def _count(cpus: str) -> int:
    """The number of CPUs in a kernel CPU list."""
    spans = [span.split("-") for span in cpus.split(",") if span]
    return sum(int(span[-1]) - int(span[0]) + 1 for span in spans)


def _memory(gib: int) -> str:
    return f"{gib // 1024} TiB" if gib % 1024 == 0 else f"{gib} GiB"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f}"


def _decided(report: Report) -> Iterator[RenderableType]:
    decided = dict.fromkeys(what for node in report.nodes for what in node.decided_by_ignition)
    if decided:
        yield _line(
            f"[{FROM_IGNITION}]Taken from the boot data[/]: {escape(', '.join(decided))}. "
            "[dim]Everything else comes from the hardware catalogue.[/]"
        )
    if report.gateways:
        yield _line(f"Gateways outside the cluster: {escape(', '.join(report.gateways))}.")
    cost = report.cost
    if cost:
        day = cost.usd_per_hour * 24
        text = (
            f"{_usd(cost.usd_per_hour)} USD per hour for what is up, {_usd(day)} per day of a "
            f"budget of {_usd(cost.budget_usd_per_day)}"
        )
        flags = [
            ("no price known", cost.without_price),
            ("price not verified", cost.unverified),
        ]
        told = [f"{flag}: {', '.join(names)}" for flag, names in flags if names]
        yield _line(text + (f" [yellow]({escape('; '.join(told))})[/]" if told else "") + ".")


def _resources(resources: Mapping[str, int]) -> Table:
    """Lists types in two columns, the kind before its package."""
    table = Table.grid(padding=(0, 2))
    cells = []
    for kind, count in resources.items():
        package, module, name = kind.split(":", 2)
        group = module if package == "kubernetes" else f"{package} {module.partition('/')[0]}"
        group = group.removesuffix(" index")
        cells.append(f"{count:>5} {name} [dim]{group}[/]")
    half = -(-len(cells) // 2)
    for position in range(half):
        table.add_row(*cells[position::half])
    return table


def _rules(verdicts: tuple[Verdict, ...]) -> Group:
    lines: list[RenderableType] = []
    for one in verdicts:
        state = "" if one.state in ("held", "disabled", one.level) else f", {one.state}"
        text = f"{escape(one.sentence)} [dim]{one.rule}, {one.level}{state}[/]"
        lines.append(_line(f"{MARKS[one.state]} {text}"))
        found = dict.fromkeys(text for finding in one.findings for text in _sentences(finding))
        lines.extend(_line(f"  {escape(text)}") for text in found)
    return Group(*lines)


def _sentences(finding: Finding) -> Iterator[str]:
    for sentence in finding.sentences:
        yield f"{sentence} {exemption_note(finding)}" if finding.state == "exempt" else sentence


def _exemption(one: ExemptionStatus) -> Padding:
    ended = one.use == "expired"
    mark, was = ("[red]✗[/]", "was exempt") if ended else ("[yellow]![/]", "is exempt")
    text = f"{one.resource} {was} from {one.rule} until {one.until}, {one.owner}: {one.reason}"
    unused = " [dim]not needed[/]" if one.use == "unused" else ""
    return _line(f"{mark} {escape(text)}{unused}")


def _notes(report: Report) -> Iterator[RenderableType]:
    if report.job:
        job = report.job
        yield _section("Job")
        yield _line(
            f"[green]✓[/] {job.name} ran on {job.node} ({job.hardware}) with {job.gpus} GPUs and "
            f"{job.cpus} CPUs, {job.seconds:.1f} s from its creation to its end"
        )
    if report.charts_not_rehearsed or report.recorded_only:
        yield _section("Not rehearsed")
        for chart in report.charts_not_rehearsed:
            how = "only its CRDs are installed" if chart.kinds_installed else RECORDED
            yield _line(escape(f"chart {chart.name} {chart.version}: {how}"))
        yield from (_line(escape(text)) for text in report.recorded_only)
    if report.taken_as_given:
        yield _section("Assumptions")
        yield from (_line(escape(text)) for text in report.taken_as_given)
    if report.version_differences:
        yield _section("Versions that differ from the environment's")
        for version in report.version_differences:
            yield _line(
                escape(
                    f"{version.system} {version.rehearsed} was rehearsed, "
                    f"the environment has {version.environment}"
                )
            )


def _verdict(report: Report) -> Text:
    if not report.passed:
        return Text.from_markup(f"[bold red]{report.environment} failed:[/]")
    gpus = sum(node.gpus for node in report.nodes)
    total = sum(phase.seconds for phase in report.phases)
    return Text.from_markup(
        f"[bold green]{report.environment} passed[/]: {len(report.nodes)} nodes Ready, "
        f"{gpus} GPUs, {sum((report.resources or {}).values())} resources, {total:.0f} s."
    )
