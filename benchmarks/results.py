"""The figures of a run, and their goals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A figure and its upper bound."""

    name: str
    value: float
    at_most: float
    unit: str = ""

    @property
    def met(self) -> bool:
        """True where the figure is within its bound."""
        return self.value <= self.at_most

    @property
    def verdict(self) -> str:
        """The bound and whether it is met, for a table."""
        unit = f" {self.unit}" if self.unit else ""
        return f"≤ {self.at_most:g}{unit}: {'met' if self.met else 'missed'}"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The wall-clock time of a preview, and the CPU time of engine, language host and program."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, kw_only=True)
class Previews:
    """The times of three kinds of `pulumi preview`, one of each kind in every run."""

    environment: str
    resources: Mapping[str, int]
    """Custom resources by package; the bare program registers as many."""
    bare: Sequence[Timing]
    program: Sequence[Timing]
    with_policies: Sequence[Timing]

    @property
    def over_bare(self) -> Goal:
        """The median ratio of the program to the bare one."""
        name = f"preview of {self.environment} / bare program"
        return Goal(name=name, value=ratio(self.program, self.bare), at_most=1.3)

    @property
    def policies(self) -> float:
        """The median ratio of the program with the policy pack to the one without."""
        return ratio(self.with_policies, self.program)


@dataclass(frozen=True, kw_only=True)
class Checks:
    """`fleet check` of one file, and a command of typer that does nothing, in turns."""

    environment: str
    hello: Sequence[Timing]
    checked: Sequence[Timing]

    @property
    def goal(self) -> Goal:
        """The check against the command, median of the ratios of the runs."""
        name = f"fleet check of one file against {self.environment} / bare command"
        return Goal(name=name, value=ratio(self.checked, self.hello), at_most=2)


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """CPU seconds of many objects in one process, in turns with a parse of the same text."""

    objects: int
    parsed_s: Sequence[float]
    """By PyYAML's safe loader with libyaml."""
    read_s: Sequence[float]
    judged_s: Sequence[float]

    @property
    def over_parse(self) -> float:
        """The median ratio of the whole check to the parse."""
        runs = zip(self.read_s, self.judged_s, self.parsed_s, strict=True)
        return median((read + judged) / parsed for read, judged, parsed in runs)

    @property
    def per_second(self) -> float:
        """The median of the objects that a second of one core checks."""
        runs = zip(self.read_s, self.judged_s, strict=True)
        return median(self.objects / (read + judged) for read, judged in runs)

    @property
    def goals(self) -> tuple[Goal, Goal]:
        """The goals: the ratio, and 500 objects a second."""
        each_ms = 1000 / self.per_second
        return (
            Goal(name="check of objects / parse of their YAML", value=self.over_parse, at_most=5),
            Goal(name="check of one of many objects", value=each_ms, at_most=2, unit="ms"),
        )


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """The times and the memory of one `fleet rehearse`."""

    environment: str
    phases_s: Mapping[str, float]
    total_s: float
    peak_memory_gib: float
    most_s: float
    most_memory_gib: float

    @property
    def goals(self) -> tuple[Goal, Goal]:
        """The goals for time and memory."""
        name = f"rehearsal of {self.environment}"
        gib = self.peak_memory_gib
        return (
            Goal(name=f"{name}, time", value=self.total_s, at_most=self.most_s, unit="s"),
            Goal(name=f"{name}, memory", value=gib, at_most=self.most_memory_gib, unit="GiB"),
        )


@dataclass(frozen=True, kw_only=True)
class Block:
    """The mean seconds of a node in a block, in three ways that took turns."""

    ignition_s: float
    """From its plan to Ignition."""
    butane_s: float
    """The same, with a call of the real Butane for each node."""
    booted_s: float
    """From its plan to Ignition with the join part, and the boot of it."""


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The times of many nodes in one process, and of blocks of nodes in turns with Butane."""

    count: int
    total_s: float
    """All nodes rendered and boot-checked."""
    plans_s: Sequence[float]
    blocks: Sequence[Block]

    @property
    def rendered(self) -> float:
        """The median ratio of Ignition made here to Ignition by calls of Butane."""
        return median(block.ignition_s / block.butane_s for block in self.blocks)

    @property
    def booted(self) -> float:
        """The median ratio of Ignition made here and booted to Ignition by calls of Butane."""
        return median(block.booted_s / block.butane_s for block in self.blocks)

    @property
    def goals(self) -> tuple[Goal, Goal, Goal]:
        """The goals: the time of all nodes, of one plan, and five times the speed of Butane."""
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


def ratio(taken: Sequence[Timing], floors: Sequence[Timing]) -> float:
    """Return the median of the ratios of the runs."""
    pairs = zip(taken, floors, strict=True)
    return median(one.wall_s / floor.wall_s for one, floor in pairs)


def seconds(taken: Sequence[Timing]) -> tuple[str, str]:
    """Return the times of one kind of preview, for two columns of a table."""
    wall = [one.wall_s for one in taken]
    shown = f"{median(wall):.2f} ({min(wall):.2f} to {max(wall):.2f})"
    return shown, f"{median(one.cpu_s for one in taken):.2f}"
