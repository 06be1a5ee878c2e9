"""What was measured, and the file that keeps it: docs/gangs-and-autoscalers.json.

A run replaces the rows of its scheduler and scenarios; those of another version are dropped.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from benchmarks.gangs.scenarios import SCENARIOS, Scenario


@dataclass(frozen=True, kw_only=True)
class Row:
    """One scenario with one scheduler."""

    scenario: str
    started: int
    """How many of the gangs ran with all their members at one time."""
    seconds: float | None
    """From the request until as many gangs ran as have room; none where they did not."""
    rounds: int
    """How often Karpenter decided to make machines."""
    made: int
    """Machines that AWS launched."""
    evictions: int
    """Pods that had a machine and lost it."""
    again_s: float | None = None
    """From the warning of an interruption until all members ran again."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The rows of one scheduler, and what ran; without rows, `missing` says why."""

    name: str
    title: str
    kubernetes: str
    karpenter: str
    on: tuple[str, ...] = ()
    """Gates, API versions and settings that are not as they come, by name."""
    written: str = ""
    """How a gang is written for it."""
    date: str = ""
    machine: str = ""
    missing: str = ""
    rows: tuple[Row, ...] = ()

    def row(self, scenario: str) -> Row | None:
        """Return the row of a scenario, where it was run."""
        return next((row for row in self.rows if row.scenario == scenario), None)


def scenario_of(row: Row) -> Scenario:
    """Return the scenario of a row."""
    return next(each for each in SCENARIOS if each.name == row.scenario)


def too_many(row: Row) -> int:
    """Machines that were made and not needed: all of them where no gang could start."""
    return max(0, row.made - scenario_of(row).needed)


def starts(row: Row) -> bool:
    """Whether all gangs that have room have started."""
    return row.started >= scenario_of(row).can_start


def merged(known: Iterable[Measured], new: Measured) -> tuple[Measured, ...]:
    """Return the results with those of one more run."""
    found = {each.name: each for each in known}
    old = found.get(new.name)
    if old and _same_versions(old, new):
        ran = {row.scenario for row in new.rows}
        rows = [*(row for row in old.rows if row.scenario not in ran), *new.rows]
        new = replace(new, rows=tuple(sorted(rows, key=_position)))
    found[new.name] = new
    return tuple(found.values())


def _same_versions(old: Measured, new: Measured) -> bool:
    def versions(each: Measured) -> tuple[object, ...]:
        return each.title, each.kubernetes, each.karpenter, each.on, each.missing

    return versions(old) == versions(new)


def _position(row: Row) -> int:
    return SCENARIOS.index(scenario_of(row))


def read(path: Path) -> tuple[Measured, ...]:
    """Return what earlier runs have measured."""
    if not path.exists():
        return ()
    return TypeAdapter(tuple[Measured, ...]).validate_json(path.read_bytes())


def text(measured: Iterable[Measured]) -> str:
    """Return the results as JSON."""
    return json.dumps([asdict(each) for each in measured], indent=1) + "\n"
