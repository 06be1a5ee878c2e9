"""What a change did to jobs and machines, as data, and what of it the settings do not allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from settings.names import PROJECT
from settings.rehearsal import AllowedLoss

What = Literal["new", "gone", "replaced", "reinstalled", "rebooted", "drained"]
ALLOW = f"{PROJECT}:rehearsal.allow"
NAMED = 4
ASSUMED_HOURS = 12.0
"""The age of a job that no snapshot tells: half of a day's job."""
REPLACED_S = 180.0
"""So long a rehearsal waits for Karpenter to replace drifted machines. After that Karpenter goes on
until a budget forbids it or a pod finds no place in its simulation (karpenter v1.14.1,
pkg/controllers/disruption/drift.go, ComputeCommands)."""


@dataclass(frozen=True, kw_only=True)
class MachineMove:
    """What happened to a machine, `at_s` seconds after the preview of the change began."""

    name: str
    pool: str
    what: What
    at_s: float


@dataclass(frozen=True, kw_only=True)
class EndedJob:
    """A job that the change ended, with the machine on which its first pod ended.

    `again_on` are the machines on which it was started again. A gang has ended as a whole when a
    pod of it has.
    """

    name: str
    pool: str
    node: str
    gpus: float  # parts of one, where it has instances of MIG or shares
    gpu_hours_lost: float
    usd: float | None  # None where the catalogue has no price
    at_s: float
    again_on: tuple[str, ...] = ()
    gang: bool = False
    times: int = 1
    to_come: bool = False  # Karpenter was not done with its machine when the rehearsal went on


@dataclass(frozen=True, kw_only=True)
class Waited:
    """A job for whose end the drain of its machine waited."""

    job: str
    node: str


@dataclass(frozen=True, kw_only=True)
class Drifted:
    """A rented machine that Karpenter has marked as one of before, and not replaced.

    `reason` is Karpenter's for the mark, `blocked` its words for what keeps the machine: of the
    NodePool, or of the machine; empty where it has said nothing.
    """

    name: str
    pool: str
    node_pool: str
    reason: str
    blocked: str = ""
    by_budget: bool = False  # the budget of the NodePool allows none of its machines to be replaced
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Due:
    """The machines of a pool with changed boot data or image, in the order of `fleet reinstall`."""

    pool: str
    machines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Replaced:
    """A resource that was replaced, as these fields of it cannot change in place."""

    resource: str
    fields: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """A pool that had fewer GPUs than its queues deserve, for so many seconds of the twin."""

    pool: str
    held: int
    least: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Moves:
    """The way from a commit to the working tree, with jobs that run."""

    ref: str
    commit: str
    snapshot: str | None  # the file that the jobs are from; None for the default set
    jobs: int
    gangs: int = 0  # of the jobs
    not_running: tuple[str, ...] = ()  # jobs that could not be started, a sentence each
    ended: tuple[EndedJob, ...] = ()
    waited: tuple[Waited, ...] = ()
    machines: tuple[MachineMove, ...] = ()  # in their order
    drifted: tuple[Drifted, ...] = ()
    due: tuple[Due, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    shortages: tuple[Shortage, ...] = ()
    twice_usd: float = 0.0  # of machines that ran twice while they were replaced
    twice_unpriced: tuple[str, ...] = ()  # the hardware of those whose price is not known

    @property
    def gpu_hours_lost(self) -> float:
        """The hours of work on GPUs that the ended jobs lose."""
        return round(sum(job.gpu_hours_lost for job in self.ended), 2)

    @property
    def usd(self) -> float:
        """The price of the lost work and of machines that ran twice, as far as it is known."""
        return round(sum(job.usd or 0.0 for job in self.ended) + self.twice_usd, 2)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """What `usd` is without: ended jobs and hardware that ran twice, without a known price."""
        jobs = [f"the machine of {job.name}" for job in self.ended if job.usd is None]
        return (*jobs, *(f"{each}, of which machines ran twice" for each in self.twice_unpriced))


def beyond(moves: Moves, allow: AllowedLoss) -> Iterator[str]:
    """Yield a sentence for each limit of the settings that the change exceeds.

    Where jobs were wanted and none runs, nothing tells what the change would end.
    """
    if not moves.jobs and (moves.snapshot or moves.not_running):
        yield (
            f"No job of {moves.snapshot or 'the default set'} runs in the twin, so nothing tells "
            f"which of them the change ends: {'; '.join(moves.not_running[:NAMED])}"
        )
    if len(moves.ended) > allow.jobs_ended:
        yield (
            f"The change ends running jobs: {len(moves.ended)}, and {ALLOW}.jobs_ended allows "
            f"{allow.jobs_ended}: {_listed([f'{job.name} on {job.node}' for job in moves.ended])}."
        )
    if allow.gpu_hours_lost is not None and moves.gpu_hours_lost > allow.gpu_hours_lost:
        yield (
            f"The change loses {moves.gpu_hours_lost:,.1f} GPU-hours of work, and "
            f"{ALLOW}.gpu_hours_lost allows {allow.gpu_hours_lost:,g}."
        )
    if allow.usd is not None and moves.usd > allow.usd:
        yield f"The change costs {moves.usd:,.2f} USD, and {ALLOW}.usd allows {allow.usd:,g}."
    if allow.usd is not None and moves.unpriced:
        yield (
            f"{ALLOW}.usd allows {allow.usd:,g}, and nothing tells whether the change keeps to it: "
            f"the catalogue has no price for {_listed(moves.unpriced)}."
        )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return f"{', '.join(names[:NAMED])}{f' and {more} more' if more > 0 else ''}"
