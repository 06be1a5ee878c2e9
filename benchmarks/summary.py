"""All figures of one run of the benchmarks, as tables and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.machine import Machine
from benchmarks.owned import Owned
from benchmarks.placing import Placed, Pods
from benchmarks.policies import Policies
from benchmarks.results import Checks, Goal, Nodes, Previews, Rehearsed, Throughput, seconds


@dataclass(frozen=True, kw_only=True)
class Results:
    """All figures of one run."""

    machine: Machine
    nodes: Nodes | None = None
    checks: Checks | None = None
    throughput: Throughput | None = None
    previews: Previews | None = None
    policies: Policies | None = None
    rehearsals: Sequence[Rehearsed] = ()
    placed: Sequence[Placed] = ()
    pods: Pods | None = None
    owned: Owned | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    """Why a case has no figures."""

    def goals(self) -> Iterator[Goal]:
        """Yield each figure that has a goal."""
        if self.nodes:
            yield from self.nodes.goals
        if self.checks:
            yield self.checks.goal
        if self.throughput:
            yield from self.throughput.goals
        if self.previews:
            yield self.previews.over_bare
        if self.policies:
            yield from self.policies.goals
        for rehearsed in self.rehearsals:
            yield from rehearsed.goals
        if self.pods:
            yield self.pods.goal
        if self.owned:
            yield from self.owned.goals

    def as_json(self) -> dict[str, object]:
        """Return the figures and the goals."""
        goals = [{**asdict(goal), "met": goal.met} for goal in self.goals()]
        ratio = self.previews.policies if self.previews else None
        return {**asdict(self), "policies_ratio": ratio, "goals": goals}

    def show(self, console: Console) -> None:
        """Print the figures as tables."""
        console.print(f"Measured on {self.machine}.", highlight=False)
        for table in self._tables():
            console.print(table)
        for name, reason in self.failed.items():
            console.print(f"{name} failed: {reason}", markup=False, highlight=False)

    def _tables(self) -> Iterator[Table]:
        if self.nodes:
            yield _node_table(self.nodes)
        if self.checks:
            yield _check_table(self.checks)
        if self.throughput:
            yield _throughput_table(self.throughput)
        if self.previews:
            yield _preview_table(self.previews)
        if self.policies:
            yield from self.policies.tables()
        if self.rehearsals:
            yield _rehearsal_table(self.rehearsals)
        yield from (placed.table() for placed in self.placed)
        if self.pods:
            yield from self.pods.tables()
        if self.owned:
            yield self.owned.table()


def _node_table(found: Nodes) -> Table:
    title = f"boot data, {len(found.blocks)} blocks of nodes in turns with the real Butane"
    table = Table("", "figure", "goal", title=title, title_justify="left")
    for goal in found.goals:
        unit = f" {goal.unit}" if goal.unit else ""
        table.add_row(goal.name, f"{goal.value:.2f}{unit}", goal.verdict)
    table.add_row("the same and its boot / by Butane", f"{found.booted:.2f}", "none")
    for name, times_s in (
        ("Ignition of a node", [block.ignition_s for block in found.blocks]),
        ("the same by Butane", [block.butane_s for block in found.blocks]),
        ("the same and its boot", [block.booted_s for block in found.blocks]),
    ):
        table.add_row(name, f"{1000 * median(times_s):.2f} ms", "none")
    return table


def _check_table(found: Checks) -> Table:
    title = f"fleet check of one file, median of {len(found.checked)} paired runs"
    columns = ("", "seconds", "CPU s", "ratio", "goal")
    table = Table(*columns, title=title, title_justify="left")
    table.add_row("a command of typer that does nothing", *seconds(found.hello))
    goal = found.goal
    table.add_row("fleet check", *seconds(found.checked), f"{goal.value:.2f}", goal.verdict)
    return table


def _throughput_table(found: Throughput) -> Table:
    runs = len(found.parsed_s)
    title = f"fleet check of {found.objects} objects in one process, median of {runs} runs"
    table = Table("", "CPU s", "goal", title=title, title_justify="left")
    for name, times_s in (
        ("a parse of their YAML alone", found.parsed_s),
        ("reading them", found.read_s),
        ("judging them", found.judged_s),
    ):
        table.add_row(name, f"{median(times_s):.2f}")
    for goal in found.goals:
        unit = f" {goal.unit}" if goal.unit else ""
        table.add_row(goal.name, f"{goal.value:.2f}{unit}", goal.verdict)
    table.add_row("objects a second", f"{found.per_second:.0f}", "none")
    return table


def _preview_table(found: Previews) -> Table:
    count, runs = sum(found.resources.values()), len(found.program)
    title = f"pulumi preview, {count} resources, median of {runs} paired runs"
    columns = ("", "seconds", "CPU s", "against", "ratio", "goal")
    table = Table(*columns, title=title, title_justify="left")
    goal = found.over_bare
    table.add_row("bare program", *seconds(found.bare))
    row = (found.environment, *seconds(found.program), "bare program", f"{goal.value:.2f}")
    table.add_row(*row, goal.verdict)
    packed = (f"{found.environment} with policies", *seconds(found.with_policies))
    table.add_row(*packed, found.environment, f"{found.policies:.2f}", "none")
    return table


def _rehearsal_table(found: Sequence[Rehearsed]) -> Table:
    environments = [rehearsed.environment for rehearsed in found]
    title = "fleet rehearse, seconds by phase, binaries built before"
    table = Table("", *environments, title=title, title_justify="left")
    phases = dict.fromkeys(phase for rehearsed in found for phase in rehearsed.phases_s)
    for phase in phases:
        table.add_row(phase, *(f"{rehearsed.phases_s.get(phase, 0):.1f}" for rehearsed in found))
    table.add_section()
    for row, number, label in (("whole command", 0, "s"), ("peak memory", 1, "GiB")):
        goals = [rehearsed.goals[number] for rehearsed in found]
        table.add_row(row, *(f"{goal.value:.1f} {label} ({goal.verdict})" for goal in goals))
    return table
