"""What is known of an environment's charts after a rehearsal, as data for its report."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from policies.verdicts import Finding
from rehearsal.charts.dependents import Dependent
from rehearsal.charts.room import PoolsRoom


@dataclass(frozen=True, kw_only=True)
class RenderedChart:
    """A release whose chart was rendered with the release's values, and not installed."""

    name: str
    chart: str
    version: str
    source: str
    objects: Mapping[str, int] = field(default_factory=dict)
    """By kind, without hooks and CRDs."""
    crds: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    """Each with its events; none of them was run."""
    refused: tuple[str, ...] = ()
    """What Helm or the API server refuses, a sentence each."""
    findings: tuple[Finding, ...] = ()
    """Of the environment's rules."""
    dependents: tuple[Dependent, ...] = ()
    images: tuple[str, ...] = ()
    """With a digest where the chart names one."""
    varying: tuple[str, ...] = ()
    """Templates that every rendering gives another text."""
    lookups: tuple[str, ...] = ()
    """What templates ask the cluster for; they were told that it has none."""
    homeless: tuple[str, ...] = ()
    """Workloads that no Ready node may run."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps the release from being installed, or breaks a rule."""
        broken = [
            problem
            for finding in self.findings
            if finding.state == "violated"
            for problem in finding.problems
        ]
        return tuple(f"Chart of {self.name}: {each}" for each in (*self.refused, *broken))


@dataclass(frozen=True, kw_only=True)
class Charts:
    """What the charts that could be rendered become."""

    rendered: tuple[RenderedChart, ...] = ()
    room: tuple[PoolsRoom, ...] = ()
    images_changed: tuple[str, ...] = ()
    """How the images differ from those in the lock file."""

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for everything that is wrong."""
        crowded = [f"{each.sentence}." for each in self.room if not each.is_enough]
        return (*(problem for each in self.rendered for problem in each.problems), *crowded)
