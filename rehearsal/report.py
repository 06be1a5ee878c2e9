"""The result of a rehearsal as data, for the tables and for `--json`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pydantic import TypeAdapter

from policies.exemptions import ExemptionStatus
from policies.verdicts import Verdict, as_json
from rehearsal.changes import Changes
from rehearsal.charts.results import Charts
from rehearsal.controller_report import ControllerReport
from rehearsal.device_plugin import NOT_LABELLED
from rehearsal.ending import Ending
from rehearsal.faults.result import Faults
from rehearsal.kills import Kills
from rehearsal.lakefs_held import LakefsHeld
from rehearsal.machines import Refusal
from rehearsal.moves.result import Moves
from rehearsal.progress import Phase
from rehearsal.smoke.results import Smoke
from settings.names import GPU


@dataclass(frozen=True, kw_only=True)
class Site:
    """A place with machines."""

    name: str
    kind: str
    cidr: str


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool as its resources describe it, and how many of its machines are Ready nodes."""

    name: str
    kind: str
    site: str
    hardware: str
    purpose: str
    nodes_wanted: int
    nodes_ready: int
    gpu_limit: int | None  # of pools whose machines come and go
    images: tuple[str, ...]  # that its machines boot: addresses, ids or names
    boot_data_ok: bool
    usd_per_hour: float | None  # of its Ready nodes; None where the catalogue has no price
    title: str = ""  # its name in the stack file, where that is not its id
    gpus_per_node: int = 0
    gpu_model: str | None = None


@dataclass(frozen=True, kw_only=True)
class NumaNode:
    """A NUMA node of a machine, from the catalogue."""

    id: int
    cpus: str
    memory_gib: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """A Ready node. Quantities as Kubernetes writes them, CPU lists as the kernel does."""

    name: str
    site: str
    pool: str
    hardware: str
    cpus: int
    memory_gib: int
    numa: tuple[NumaNode, ...]
    gpus: int
    gpu_model: str | None
    housekeeping_cpus: str
    workload_cpus: str
    hugepages: Mapping[str, tuple[int, ...]]  # page size -> pages on each NUMA node
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    decided_by_ignition: tuple[str, ...]
    usd_per_hour: float | None


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A Helm release: recorded, not installed."""

    name: str
    chart: str
    version: str
    kinds_installed: bool  # of its CRDs
    reason: str = ""  # why it could not be rendered


@dataclass(frozen=True, kw_only=True)
class VersionDifference:
    """A system whose minor version in the rehearsal differs from the environment's."""

    system: str
    environment: str
    rehearsed: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of the Ready nodes and the gateways, at catalogue prices."""

    usd_per_hour: float
    budget_usd_per_day: float
    without_price: tuple[str, ...]  # hardware that is not in the sum
    unverified: tuple[str, ...]  # hardware whose price nobody has confirmed


@dataclass(frozen=True, kw_only=True)
class Report:
    """One rehearsal. Fields of phases that did not run are empty; `problems` says why it failed.

    A broken rule is a problem, too, with its findings in `verdicts`.
    """

    environment: str
    passed: bool = False
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  # of the program and of providers
    sites: tuple[Site, ...] = ()
    pools: tuple[Pool, ...] = ()
    nodes: tuple[NodeFacts, ...] = ()
    gateways: tuple[str, ...] = ()  # machines that came up outside the cluster
    refused: tuple[Refusal, ...] = ()
    resources: Mapping[str, int] | None = None  # by type
    verdicts: tuple[Verdict, ...] = ()  # in the order of the rules: of every one, if all was judged
    exemptions: tuple[ExemptionStatus, ...] = ()  # all of the environment, used or not
    smoke: Smoke | None = None
    controllers: tuple[ControllerReport, ...] = ()  # that ran, with the rights of their charts
    lakefs: LakefsHeld | None = None  # after the update
    charts: Charts = field(default_factory=Charts)
    charts_not_rehearsed: tuple[Chart, ...] = ()
    controllers_not_run: tuple[str, ...] = ()  # programs of ours that no twin runs
    taken_as_given: tuple[str, ...] = ()
    unverified: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # machine -> fields
    version_differences: tuple[VersionDifference, ...] = ()
    cost: Cost | None = None
    changes: Changes | None = None  # since the last rehearsal of the same kept twin
    moves: Moves | None = None  # of a change that was rehearsed from another commit
    no_beginning: bool = False  # that commit is none from which the change can be rehearsed
    kills: Kills | None = None
    faults: Faults | None = None
    ending: Ending | None = None
    phases: tuple[Phase, ...] = ()
    kept: bool = False
    ended: str = ""  # in UTC, as 2026-11-23T01:26:18+00:00
    stack_file_sha256: str = ""
    ended_in: str = ""  # the phase that failed before the machines were known

    @property
    def planned(self) -> bool:
        """True where it did not come to the machines: pools and cost are what the settings plan."""
        return bool(self.ended_in)

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The rules that it broke."""
        return tuple(verdict for verdict in self.verdicts if verdict.state == "violated")

    @property
    def other_problems(self) -> tuple[str, ...]:
        """The problems that no rule speaks of."""
        of_rules = {
            problem
            for verdict in self.broken
            for finding in verdict.findings
            for problem in finding.problems
        }
        return tuple(problem for problem in self.problems if problem not in of_rules)

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Returns what `as_json` has written; raises ValueError for anything else.

        A report with other fields is one of another version.
        """
        found = TypeAdapter(cls).validate_json(text)
        others = {*json.loads(text)} ^ {each.name for each in fields(cls)}
        if others:
            raise ValueError(
                f"Another version has or lacks the fields {', '.join(sorted(others))}."
            )
        return found

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return as_json(self)

    def failed(self, *problems: str) -> "Report":
        """Returns the report with more problems."""
        return replace(self, passed=False, problems=(*self.problems, *problems))


def not_rehearsed(report: Report) -> Iterator[str]:
    """Yields what was not rehearsed, or not as a whole, a sentence each."""
    for chart in report.charts_not_rehearsed:
        how = "only its CRDs are installed" if chart.kinds_installed else "recorded, not installed"
        why = f" ({chart.reason})" if chart.reason else ""
        yield f"chart {chart.name} {chart.version}: {how}{why}"
    yield from (f"controller {name}: made, not run" for name in report.controllers_not_run)
    left_out = report.smoke.left_out if report.smoke else {}
    yield from (f"smoke job {kind}: {why}" for kind, why in left_out.items())
    if any(f"{GPU}.product" in node.labels for node in report.nodes):
        yield NOT_LABELLED
