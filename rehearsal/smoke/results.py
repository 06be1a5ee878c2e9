"""What the smoke set did in a rehearsal, as data for the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["ended", "refused", "failed"]


@dataclass(frozen=True, kw_only=True)
class SmokeRun:
    """One job. Times are seconds from its creation; None where it did not come so far.

    `as_it_must` says whether it did what its kind must do, `said` who refused it and why, or why it
    failed. `queue` is empty where Kubernetes'
    own scheduler placed it.
    """

    kind: str
    name: str
    pool: str
    queue: str
    gpus: int
    outcome: Outcome
    as_it_must: bool
    said: str = ""
    nodes: tuple[str, ...] = ()
    starts_after_s: float | None = None
    ends_after_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class RentedMachine:
    """A machine that Karpenter rented for a gang and gave back.

    `real_usd` is what it would have cost with a real boot and the NodePool's `consolidateAfter`.
    """

    id: str
    type: str
    zone: str
    capacity: str
    boot_s: float | None
    usd_per_hour: float | None
    real_usd: float | None


@dataclass(frozen=True, kw_only=True)
class Shortened:
    """A time that a rehearsal does not wait for as long as an environment does.

    `of_a_machine` times cost the rent of one. `here_s` may be 0 in an older report.
    """

    what: str
    real_s: float
    here_s: float
    how: str
    of_a_machine: bool = False

    @property
    def factor(self) -> str:
        """By how much, such as `60x`."""
        return f"{self.real_s / self.here_s:.0f}x" if self.here_s else "not waited for"


@dataclass(frozen=True, kw_only=True)
class Smoke:
    """The smoke set of one rehearsal.

    `rounds` are those in which Karpenter chose machines; `gone_after_s` is from the end of the gang
    to the last of them being gone.
    """

    runs: tuple[SmokeRun, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    machines: tuple[RentedMachine, ...] = ()
    rounds: int = 0
    gone_after_s: float | None = None
    shortened: tuple[Shortened, ...] = ()
    problems: tuple[str, ...] = ()
