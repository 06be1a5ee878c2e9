"""What became of a fleet after a fault, as data for the report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rehearsal.faults.asked import Kind


@dataclass(frozen=True, kw_only=True)
class FiredAlert:
    """An alert of the program that fired, with the labels that say of what."""

    name: str
    severity: str
    about: str
    after_s: float
    """Seconds after the fault, as Prometheus counts them."""


@dataclass(frozen=True, kw_only=True)
class Alerts:
    """What Prometheus made of the alerts while the fault lasted, and for an hour more of it."""

    fired: tuple[FiredAlert, ...] = ()
    judged: int = 0
    not_judged: tuple[str, ...] = ()
    """Alerts that read what nothing in the twin exports."""
    scraped: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FaultRun:
    """One fault. Times are seconds after it, with what was shortened added again."""

    kind: Kind
    at_s: float
    hit: str
    """What it hit, in words."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """When what was seen first, in the order in which it happens."""
    shortened: Mapping[str, float] = field(default_factory=dict)
    """What took so many seconds less in the twin."""
    recovered: bool = False
    limit_s: float = 0.0
    wrong_cordons: tuple[str, ...] = ()
    """Nodes cordoned or tainted that the fault did not concern."""
    wrong_ends: tuple[str, ...] = ()
    """Gangs that started again which the fault did not concern."""
    doubled: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    gpu_hours_lost: float = 0.0
    usd_lost: float | None = 0.0
    """Of work that is done again; each gang is taken to be some hours old. None is not known."""
    usd_waiting: float | None = 0.0
    """Of machines that were paid while their gang did not run; None where one has no price."""
    notes: tuple[str, ...] = ()
    alerts: Alerts = field(default_factory=Alerts)

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each way in which the fleet did not come through."""
        name = f"Fault {self.kind}@{self.at_s:g}"
        if not self.recovered:
            yield f"{name} ({self.hit}): not recovered within {self.limit_s:.0f} s of the twin."
        wrongs = {
            "cordoned or tainted without a reason": self.wrong_cordons,
            "started again without a reason": self.wrong_ends,
            "there twice": self.doubled,
            "lost": self.lost,
        }
        for what, names in wrongs.items():
            if names:
                yield f"{name}: {what}: {', '.join(names)}."


@dataclass(frozen=True, kw_only=True)
class Faults:
    """All faults of a rehearsal, and the gangs that ran meanwhile."""

    gangs: tuple[str, ...] = ()
    runs: tuple[FaultRun, ...] = ()
    stopped: str = ""
    """Why the faults after these were not put in."""

    def problems(self) -> Iterator[str]:
        """Yield what is to be said of any of them."""
        if self.stopped:
            yield self.stopped
        for run in self.runs:
            yield from run.problems()
