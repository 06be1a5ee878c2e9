"""Runs the smoke set of an environment, beside whatever else a rehearsal does.

All jobs run at once but a gang that spans pools: it needs all owned machines, and comes last.

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
from rehearsal.smoke.followed import DEADLINE_S, Followed
from rehearsal.smoke.jobs import RENTED, RUN_S, SPANS, SmokeJob, SmokeSet, smoke_set
from rehearsal.smoke.rented import RentedMachines
from rehearsal.smoke.renting import RentingGang
from rehearsal.smoke.results import Shortened, Smoke
from settings import Settings
from settings.pools import AwsPoolSettings

PODS = "/api/v1/pods"
OF_THE_SET = "fleet.gpu/project=acceptance"
POLL_S = 0.2
STOP_S = 5.0
"""For a request to a server that does not answer; the thread ends with the program."""
Watch = Callable[[], None]


@dataclass(kw_only=True)
class RunningSmoke:
    """The jobs while they run. `watch` raises where a server of the twin has ended."""

    api: Api
    settings: Settings
    directory: Path
    set_: SmokeSet
    watch: Watch
    gangs: list[RentingGang] = field(default_factory=list)
    followed: list[Followed] = field(default_factory=list)
    error: Exception | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Create every job that has room beside the others, and begin to follow them."""
        for job in self.set_.jobs:
            self._begin(job)
        self._thread = threading.Thread(target=self._follow, name="smoke", daemon=True)
        self._thread.start()

    def _begin(self, job: SmokeJob) -> None:
        """Create a job; machines that are rented from now on are those of its gang."""
        made = Followed(api=self.api, job=job)
        if job.kind in (RENTED, SPANS):
            after_s = consolidate_after_s(self.settings, job.pools[-1])
            rented = RentedMachines(
                api=self.api, directory=self.directory, consolidate_after_s=after_s
            )
            self.gangs.append(RentingGang(gang=made, rented=rented))
        self.followed.append(made)
        made.create()

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
        left += [job.kind for job in self.set_.all[len(self.followed) :]]
        number = len(self.set_.all)
        if left:
            return f"{number - len(left)} of {number} done, waiting for: {', '.join(left)}"
        kept = any(each.rented.gone is None for each in self.gangs)
        return "rented machines go" if kept else f"{number} jobs"

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
        for gang in self.gangs:
            gang.look()
        done = all(each.outcome is not None for each in self.followed)
        if not done or any(gang.waits for gang in self.gangs):
            return False
        left = self.set_.all[len(self.followed) :]
        for gang in self.gangs if left else ():
            gang.rented.close()
        for job in left:
            self._begin(job)
        return not left

    def result(self) -> Smoke:
        """What all jobs did, for the report."""
        rented = [each.rented for each in self.gangs]
        gone = [each.gone_after_s for each in rented]
        known = [each for each in gone if each is not None]
        return Smoke(
            runs=tuple(each.result for each in self.followed),
            left_out=self.set_.left_out,
            machines=tuple(machine for each in rented for machine in each.machines()),
            rounds=sum(each.rounds for each in rented),
            gone_after_s=max(known) if known and len(known) == len(gone) else None,
            shortened=tuple(shortened(self.settings, self.set_.all)),
            problems=tuple(self._problems()),
        )

    def _problems(self) -> Iterator[str]:
        yield from (each.problem for each in self.followed if each.problem)
        for gang in self.gangs:
            yield from gang.problems()


@contextmanager
def running(
    api: Api, settings: Settings, fleet: Fleet, directory: Path, watch: Watch
) -> Iterator[RunningSmoke]:
    """Start the smoke set on the machines of a fleet; its thread ends with the block."""
    set_ = smoke_set(settings, machines=ready_machines(settings, fleet))
    take_away(api, set_.all, watch)
    found = RunningSmoke(api=api, settings=settings, directory=directory, set_=set_, watch=watch)
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
    pools = dict.fromkeys(job.pools[-1] for job in jobs if job.kind in (RENTED, SPANS))
    if pools:
        yield Shortened(
            what="boot of a rented machine",
            real_s=REAL_BOOT_S,
            here_s=BOOT_S,
            how="the simulated EC2 runs an instance sooner; the real time is an assumption",
            of_a_machine=True,
        )
    for pool in pools:
        yield Shortened(
            what=f"consolidateAfter of {pool}",
            real_s=consolidate_after_s(settings, pool),
            here_s=POLL_S,
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
