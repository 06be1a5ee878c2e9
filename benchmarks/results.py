"""Figures, the goals that they are held to, and how both are shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.machine import Machine

if TYPE_CHECKING:
    from benchmarks.policies import Policies


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A figure and what it may be at most."""

    name: str
    value: float
    at_most: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the figure is within its goal."""
        return self.value <= self.at_most

    @property
    def verdict(self) -> str:
        """The goal and whether it was met, for a table."""
        unit = f" {self.unit}" if self.unit else ""
        return f"≤ {self.at_most:g}{unit}: {'met' if self.met else 'missed'}"


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one preview took: the wait for it, and the work of engine, language host and program."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, kw_only=True)
class Previews:
    """`pulumi preview` of three kinds, one of each in every run."""

    environment: str
    resources: Mapping[str, int]
    """Custom resources by package, which the bare program registers too."""
    bare: Sequence[Taken]
    program: Sequence[Taken]
    with_policies: Sequence[Taken]

    @property
    def over_bare(self) -> Goal:
        """The program against the bare one, median of the ratios of the runs."""
        name = f"preview of {self.environment} / bare program"
        return Goal(name=name, value=ratio(self.program, self.bare), at_most=1.3)

    @property
    def policies(self) -> float:
        """The program with the policy pack against the program without."""
        return ratio(self.with_policies, self.program)


@dataclass(frozen=True, kw_only=True)
class Checks:
    """`fleet check` of one file, and a command of typer that does nothing, in turns."""

    environment: str
    hello: Sequence[Taken]
    checked: Sequence[Taken]

    @property
    def goal(self) -> Goal:
        """The check against the command, median of the ratios of the runs."""
        name = f"fleet check of one file against {self.environment} / bare command"
        return Goal(name=name, value=ratio(self.checked, self.hello), at_most=2)


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """One `fleet rehearse`."""

    environment: str
    phases_s: Mapping[str, float]
    total_s: float
    peak_memory_gib: float
    most_s: float
    most_memory_gib: float

    @property
    def goals(self) -> tuple[Goal, Goal]:
        """Its time and its memory."""
        name = f"rehearsal of {self.environment}"
        gib = self.peak_memory_gib
        return (
            Goal(name=f"{name}, time", value=self.total_s, at_most=self.most_s, unit="s"),
            Goal(name=f"{name}, memory", value=gib, at_most=self.most_memory_gib, unit="GiB"),
        )


@dataclass(frozen=True, kw_only=True)
class Block:
    """Seconds for one node of a block, in three ways that took turns."""

    ignition_s: float
    """From its plan to Ignition."""
    butane_s: float
    """The same, with the real Butane called as a process for each node."""
    booted_s: float
    """From its plan to Ignition with the part that joins, and booted."""


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """Boot data of many nodes in one process, and of blocks of them in turns with Butane."""

    count: int
    total_s: float
    """All nodes rendered and boot-checked."""
    plans_s: Sequence[float]
    blocks: Sequence[Block]

    @property
    def rendered(self) -> float:
        """Ignition by us against the same by calls of Butane, median of the ratios."""
        return median(block.ignition_s / block.butane_s for block in self.blocks)

    @property
    def booted(self) -> float:
        """Ignition by us and its boot against Ignition alone by Butane, median of the ratios."""
        return median(block.booted_s / block.butane_s for block in self.blocks)

    @property
    def goals(self) -> tuple[Goal, Goal, Goal]:
        """The time of all, of one plan, and at least five times the speed of Butane."""
        plan_ms = 1000 * median(self.plans_s)
        return (
            Goal(
                name=f"{self.count} nodes rendered and booted",
                value=self.total_s,
                at_most=5,
                unit="s",
            ),
            Goal(name="plan of one machine", value=plan_ms, at_most=10, unit="ms"),
            Goal(name="Ignition of a node / by Butane", value=self.rendered, at_most=0.2),
        )


@dataclass(frozen=True, kw_only=True)
class Results:
    """Everything that one run of the benchmarks found."""

    machine: Machine
    nodes: Nodes
    checks: Checks
    previews: Previews
    policies: "Policies"
    rehearsals: Sequence[Rehearsed]

    def goals(self) -> Iterator[Goal]:
        """Every figure that has a goal."""
        yield from self.nodes.goals
        yield self.checks.goal
        yield self.previews.over_bare
        yield from self.policies.goals
        for rehearsed in self.rehearsals:
            yield from rehearsed.goals

    def as_json(self) -> dict[str, object]:
        """The figures and the verdicts."""
        goals = [{**asdict(goal), "met": goal.met} for goal in self.goals()]
        return {**asdict(self), "policies_ratio": self.previews.policies, "goals": goals}

    def show(self, console: Console) -> None:
        """Prints the figures as tables."""
        console.print(f"Measured on {self.machine}.", highlight=False)
        console.print(_node_table(self.nodes))
        console.print(_check_table(self.checks))
        console.print(_preview_table(self.previews))
        for table in self.policies.tables():
            console.print(table)
        if self.rehearsals:
            console.print(_rehearsal_table(self.rehearsals))


def ratio(taken: Sequence[Taken], floors: Sequence[Taken]) -> float:
    """Median of the ratios of the runs."""
    pairs = zip(taken, floors, strict=True)
    return median(one.wall_s / floor.wall_s for one, floor in pairs)


def _node_table(found: Nodes) -> Table:
    title = f"boot data, {len(found.blocks)} blocks of nodes in turns with the real Butane"
    table = Table("", "figure", "goal", title=title, title_justify="left")
    for goal in found.goals:
        unit = f" {goal.unit}" if goal.unit else ""
        table.add_row(goal.name, f"{goal.value:.2f}{unit}", goal.verdict)
    table.add_row("the same and its boot / by Butane", f"{found.booted:.2f}", "none")
    for name, seconds in (
        ("Ignition of a node", [block.ignition_s for block in found.blocks]),
        ("the same by Butane", [block.butane_s for block in found.blocks]),
        ("the same and its boot", [block.booted_s for block in found.blocks]),
    ):
        table.add_row(name, f"{1000 * median(seconds):.2f} ms", "none")
    return table


def _check_table(found: Checks) -> Table:
    title = f"fleet check of one file, median of {len(found.checked)} paired runs"
    columns = ("", "seconds", "CPU s", "ratio", "goal")
    table = Table(*columns, title=title, title_justify="left")
    table.add_row("a command of typer that does nothing", *seconds(found.hello))
    goal = found.goal
    table.add_row("fleet check", *seconds(found.checked), f"{goal.value:.2f}", goal.verdict)
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


def seconds(taken: Sequence[Taken]) -> tuple[str, str]:
    """The wait and the work of one kind of preview, for two columns of a table."""
    wall = [one.wall_s for one in taken]
    shown = f"{median(wall):.2f} ({min(wall):.2f} to {max(wall):.2f})"
    return shown, f"{median(one.cpu_s for one in taken):.2f}"


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
