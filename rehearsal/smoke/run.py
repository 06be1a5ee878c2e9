"""Runs the smoke set of an environment, all jobs at once, beside whatever else a rehearsal does.

A thread follows the jobs, so that charts can be rendered while machines come and go.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.api import Api
from rehearsal.errors import RehearsalError
from rehearsal.karpenter.instances import BOOT_S, REAL_BOOT_S
from rehearsal.machines import Fleet
from rehearsal.smoke.followed import DEADLINE_S, RENTED_DEADLINE_S, Followed
from rehearsal.smoke.jobs import RENTED, RUN_S, SmokeJob, SmokeSet, smoke_set
from rehearsal.smoke.rented import RentedMachines
from rehearsal.smoke.results import Shortened, Smoke
from rehearsal.smoke.spokesmen import why_waiting
from settings import Settings
from settings.pools import AwsPoolSettings

PODS = "/api/v1/pods"
OF_THE_SET = "fleet.gpu/project=acceptance"
POLL_S = 0.25
STOP_S = 5.0
"""For a request to a server that does not answer; the thread ends with the program."""
Watch = Callable[[], None]


@dataclass(kw_only=True)
class RunningSmoke:
    """The jobs while they run. `watch` raises where a server of the twin has ended."""

    api: Api
    set_: SmokeSet
    watch: Watch
    rented: RentedMachines | None = None
    followed: list[Followed] = field(default_factory=list)
    error: Exception | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Create every job and begin to follow them."""
        self.followed = [Followed(api=self.api, job=job) for job in self.set_.jobs]
        for each in self.followed:
            each.create()
        self._thread = threading.Thread(target=self._follow, name="smoke", daemon=True)
        self._thread.start()

    def wait(self, say: Callable[[str], None]) -> None:
        """Wait until all jobs have an outcome and no machine that was rented is left."""
        while self._thread is not None and self._thread.is_alive():
            self.watch()
            say(self.told)
            self._thread.join(POLL_S)
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """End the thread; the jobs stay as they are."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_S)

    @property
    def told(self) -> str:
        """How far it is, for the line of the phase."""
        left = [each.job.kind for each in self.followed if each.outcome is None]
        if left:
            done = len(self.followed) - len(left)
            return f"{done} of {len(self.followed)} done, waiting for: {', '.join(left)}"
        kept = self.rented is not None and self.rented.gone is None
        return "rented machines go" if kept else f"{len(self.followed)} jobs"

    def _follow(self) -> None:
        try:
            while not self._stop.is_set() and not self._look():
                self._stop.wait(POLL_S)
        except Exception as error:  # raised again in `wait`
            self.error = error

    def _look(self) -> bool:
        """Take in how the cluster is now; return whether all is over."""
        pods = self.api.items(PODS, labelSelector=OF_THE_SET)
        for each in self.followed:
            each.look(pods)
        over = all(each.outcome is not None for each in self.followed)
        if self.rented is None:
            return over
        gang = self._gang
        self.rented.look(gang_over=gang.outcome is not None)
        late = time.monotonic() - gang.created > 2 * RENTED_DEADLINE_S
        waits = gang.outcome == "ended" and self.rented.gone is None and not late
        return over and not waits

    @property
    def _gang(self) -> Followed:
        return next(each for each in self.followed if each.job.kind == RENTED)

    def result(self, settings: Settings) -> Smoke:
        """What all jobs did, for the report."""
        rented = self.rented
        return Smoke(
            runs=tuple(each.result for each in self.followed),
            left_out=self.set_.left_out,
            machines=rented.machines() if rented else (),
            rounds=rented.rounds if rented else 0,
            gone_after_s=rented.gone_after_s if rented else None,
            shortened=tuple(shortened(settings, self.set_.jobs)),
            problems=tuple(self._problems()),
        )

    def _problems(self) -> Iterator[str]:
        yield from (each.problem for each in self.followed if each.problem)
        if self.rented is None:
            return
        gang = self._gang
        if gang.outcome != "ended":
            return
        if not self.rented.machines():
            yield f"{RENTED}: job {gang.job.name} ran, and Karpenter rented no machine for it."
        if self.rented.gone is None:
            said = why_waiting(self.api, gang.job.namespace, gang.job.name, ())
            yield f"{RENTED}: the machines of job {gang.job.name} do not go: {said}"


@contextmanager
def running(
    api: Api, settings: Settings, fleet: Fleet, directory: Path, watch: Watch
) -> Iterator[RunningSmoke]:
    """Start the smoke set on the machines of a fleet; its thread ends with the block."""
    set_ = smoke_set(settings, machines=ready_machines(settings, fleet))
    take_away(api, set_.jobs, watch)
    gang = next((job for job in set_.jobs if job.kind == RENTED), None)
    rented = None
    if gang is not None:
        after_s = consolidate_after_s(settings, gang.pool)
        rented = RentedMachines(api=api, directory=directory, consolidate_after_s=after_s)
    found = RunningSmoke(api=api, set_=set_, watch=watch, rented=rented)
    found.start()
    try:
        yield found
    finally:
        found.stop()


def ready_machines(settings: Settings, fleet: Fleet) -> dict[str, int]:
    """Return how many machines of each pool can take work, or be rented."""
    refused = {each.pool for each in fleet.refusals}
    found: dict[str, int] = {}
    for name, pool in settings.pools.items():
        nodes = sum(node.machine.pool == name for node in fleet.nodes)
        most = pool.gpus // max(pool.hardware.gpu_count, 1)
        found[name] = nodes if not pool.rented else 0 if name in refused else most
    return found


def take_away(api: Api, jobs: Iterable[SmokeJob], watch: Watch) -> None:
    """Delete the jobs of a rehearsal before, and wait until they are gone with their pods."""
    left = {job.path: job for job in jobs if api.delete(job.path) is not None}
    started = time.monotonic()
    while left:
        watch()
        left = {path: job for path, job in left.items() if api.get(path)}
        if left and time.monotonic() - started > DEADLINE_S:
            names = ", ".join(job.name for job in left.values())
            raise RehearsalError(f"Jobs of the last rehearsal do not go away: {names}.")
        time.sleep(0.1)


def consolidate_after_s(settings: Settings, pool: str) -> float:
    """Return for how long a machine of a rented pool is kept without work."""
    declared = settings.pools[pool].declared
    return 60.0 * declared.consolidate_after_minutes if isinstance(declared, AwsPoolSettings) else 0


def shortened(settings: Settings, jobs: Iterable[SmokeJob]) -> Iterator[Shortened]:
    """Yield every time that the jobs of a rehearsal do not wait for as an environment does."""
    jobs = list(jobs)
    for job in jobs:
        if job.kind == RENTED:
            yield Shortened(
                what="boot of a rented machine",
                real_s=REAL_BOOT_S,
                here_s=BOOT_S,
                how="the simulated EC2 runs an instance sooner; the real time is an assumption",
                of_a_machine=True,
            )
            yield Shortened(
                what=f"consolidateAfter of {job.pool}",
                real_s=consolidate_after_s(settings, job.pool),
                here_s=0,
                how="status.lastPodEventTime of the NodeClaims is set back; NodePools stay as made",
                of_a_machine=True,
            )
    if jobs:
        yield Shortened(
            what="smoke job",
            real_s=max(map(_limit_s, jobs)),
            here_s=RUN_S,
            how="kwok ends its containers; a real one may take as long as activeDeadlineSeconds",
        )


def _limit_s(job: SmokeJob) -> float:
    spec: Mapping[str, object] = job.manifest["spec"]
    found = spec.get("activeDeadlineSeconds") or job.template["spec"]["activeDeadlineSeconds"]
    return float(str(found))
