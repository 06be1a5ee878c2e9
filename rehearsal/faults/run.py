"""Puts the faults in, one after the other, and notes what becomes of each."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.api import Api
from rehearsal.controllers.controller import Controllers
from rehearsal.errors import NothingToHitError, RefusedError, RehearsalError
from rehearsal.faults import money, replay, work
from rehearsal.faults.alerts import judge
from rehearsal.faults.asked import KINDS, OWNED, RENTED, AskedFault, Kind
from rehearsal.faults.boot import BootHangs
from rehearsal.faults.capacity import SoldOut
from rehearsal.faults.link import LinkDown
from rehearsal.faults.node import NodeStops
from rehearsal.faults.result import FaultRun, Faults
from rehearsal.faults.rules import Rules
from rehearsal.faults.scene import Clock, Fault, Hit, Scene
from rehearsal.faults.scrape import Scraper
from rehearsal.faults.servers import ServerKilled
from rehearsal.faults.spot import SpotEnds
from rehearsal.faults.work import Gang, Now
from rehearsal.karpenter import instances, machines
from rehearsal.karpenter.instances import BOOT_S, REAL_BOOT_S
from rehearsal.moves.watch import COLLECTIONS, Watch
from settings import Settings
from settings.pools import AwsPoolSettings

GANGS = "/apis/batch.volcano.sh/v1alpha1/jobs"
PAUSE_S = 0.2
CLAIMED_WITHIN_S = 10.0
"""Karpenter writes the id of a machine into its NodeClaim so long after the launch."""
CALM_S = 5.0
"""So long all gangs must run, or a machine too many would not be seen."""


@dataclass(kw_only=True)
class FaultRehearsal:
    """The faults of one rehearsal, on its twin."""

    api: Api
    controllers: Controllers
    settings: Settings
    root: Path
    promtool: Path
    say: Callable[[str], None]
    runs: list[FaultRun] = field(default_factory=list)

    def run(self, wanted: Sequence[AskedFault]) -> Faults:
        """Start the gangs, put the faults in, and take the gangs away."""
        gangs = gangs_for(self.settings, wanted)
        watched = {**COLLECTIONS, "Gang": GANGS}
        watch = Watch(self.api, watched)
        watch.start()
        scraper = Scraper(self.controllers.directory, watch, Rules.read(self.api).names)
        scraper.start()
        stopped = ""
        try:
            self._all(wanted, watch, gangs, scraper)
        except RehearsalError as error:
            stopped = str(error)
        finally:
            scraper.stop()
            self._take_away(gangs)
            watch.stop()
        names = tuple(gang.name for gang in gangs)
        return Faults(gangs=names, runs=tuple(self.runs), stopped=stopped)

    def _take_away(self, gangs: Sequence[Gang]) -> None:
        with suppress(RefusedError):  # of an API server that did not come back
            for gang in gangs:
                self.api.delete(gang.job.path, dependents="Background")

    def _all(
        self, wanted: Sequence[AskedFault], watch: Watch, gangs: Sequence[Gang], scraper: Scraper
    ) -> None:
        self.say("the gangs start")
        check = self.controllers.processes.check
        work.start(self.api, watch, gangs, check)
        ran_s = watch.seconds
        for each in wanted:
            _wait(watch, ran_s + each.at_s)
            self.runs.append(self._one(each, watch, gangs, scraper))
            if not self.runs[-1].recovered:
                work.start_anew(self.api, watch, gangs, check)

    def _one(
        self, asked: AskedFault, watch: Watch, gangs: Sequence[Gang], scraper: Scraper
    ) -> FaultRun:
        """Put one fault in and wait until the fleet is well again, or its limit is over."""
        fault = _fault(asked.kind, self.root)
        scene = Scene(
            api=self.api,
            directory=self.controllers.directory,
            processes=self.controllers.processes,
            controllers=self.controllers,
            watch=watch,
            gangs=tuple(gangs),
        )
        self.say(f"{asked.word}: put in")
        began = watch.seconds
        try:
            hit = fault.inject(scene)
            began = began if hit.asks_s is None else hit.asks_s
            recovered = self._until_well(asked, scene, fault, began)
        finally:
            fault.end(scene)
        return self._told(Observed(asked, scene, fault, hit, began, recovered), scraper)

    def _until_well(self, asked: AskedFault, scene: Scene, fault: Fault, began: float) -> bool:
        calm_since = None
        while scene.watch.seconds < began + fault.limit_s:
            self.say(f"{asked.word}: {scene.watch.seconds - began:.0f} s")
            if not isinstance(fault, ServerKilled):
                scene.processes.check()
            try:
                fault.step(scene)
                well = fault.over(scene) and all(gang.runs(scene.now) for gang in scene.gangs)
            except RefusedError:  # while the API server is away
                well = False
            if not well:
                calm_since = None
            elif calm_since is None:
                calm_since = scene.watch.seconds
            elif scene.watch.seconds > calm_since + CALM_S:
                return True
            time.sleep(PAUSE_S)
        return False

    def _told(self, done: "Observed", scraper: Scraper) -> FaultRun:
        """Read from the watch what has happened."""
        scene, hit, seen = done.scene, done.hit, list(done.scene.watch.seen)
        found = replay.milestones(seen, done.began, hit)
        _leave_out_boots(scene.clock, found)
        mended = done.fault.mended_s()
        if mended is not None:
            found["mended"] = mended
        times = sorted(found.items(), key=lambda item: item[1])
        real = {name: round(scene.clock.between(done.began, at_s), 1) for name, at_s in times}
        restarted = hit.gang if "pods evicted" in found and hit.asks_s is None else None
        stopped = restarted or (hit.gang if hit.asks_s is not None else None)
        rules, samples = Rules.read(self.api), list(scraper.samples)
        alerts = judge(self.promtool, rules, done.window(mended), samples, scene)
        left_out = {what: round(seconds) for _, seconds, what in scene.clock.left_out}
        return FaultRun(
            kind=done.asked.kind,
            at_s=done.asked.at_s,
            hit=hit.words,
            seconds=real,
            shortened=left_out,
            recovered=done.recovered,
            limit_s=done.fault.limit_s,
            wrong_cordons=replay.wrong_cordons(seen, done.began, hit),
            wrong_ends=replay.wrong_ends(seen, done.began, scene.gangs, hit),
            doubled=doubled(scene),
            lost=_lost(done),
            gpu_hours_lost=money.gpu_hours(restarted) if restarted else 0.0,
            usd_lost=money.usd_of_work(restarted, done.before) if restarted else 0.0,
            usd_waiting=_usd_of_waiting(done, stopped, found) if stopped else 0.0,
            notes=(*_notes(done.fault), *_why_not(done)),
            alerts=alerts,
        )


@dataclass(frozen=True)
class Observed:
    """A fault that was put in, and whether the fleet was well again in time."""

    asked: AskedFault
    scene: Scene
    fault: Fault
    hit: Hit
    began: float
    recovered: bool

    @property
    def before(self) -> Now:
        """The objects as they were when it began."""
        return replay.at(self.scene.watch.seen, self.began)

    def window(self, mended: float | None) -> tuple[float, float]:
        """When it began, and the moment whose state Prometheus then holds for an hour."""
        return self.began, self.scene.watch.seconds if mended is None else mended


def _usd_of_waiting(done: Observed, gang: Gang, found: dict[str, float]) -> float | None:
    """What its machines cost from the fault until it runs again, or until now."""
    scene = done.scene
    window = done.began, found.get("runs again", scene.watch.seconds)
    if gang.rented:
        rented, epoch = instances.read(scene.directory), time.time() - scene.watch.seconds
        return money.usd_of_rented(gang, rented, scene.clock, epoch, window)
    return money.usd_of_owned(gang, done.before, scene.clock, window)


def _fault(kind: Kind, root: Path) -> Fault:
    match kind:
        case "spot":
            return SpotEnds()
        case "node":
            return NodeStops()
        case "link":
            return LinkDown(root=root)
        case "etcd" | "api":
            return ServerKilled(name="etcd" if kind == "etcd" else "kube-apiserver")
        case "boot":
            return BootHangs()
        case "capacity":
            return SoldOut()


def gangs_for(settings: Settings, wanted: Sequence[AskedFault]) -> tuple[Gang, ...]:
    """Return the gangs that faults need: both kinds, as far as the environment has them.

    Raises NothingToHitError where a fault would have nothing that it could hit.
    """
    found = work.gangs(settings)
    rented = [gang.job.pool for gang in found if gang.rented]
    has_owned = len(rented) < len(found)
    hits: dict[Kind, bool] = {each: bool(found) for each in KINDS}
    hits |= dict.fromkeys(RENTED, bool(rented)) | dict.fromkeys(OWNED, has_owned)
    hits["spot"] = any(_has_spot(settings.pools[name].declared) for name in rented)
    nothing = sorted({each.kind for each in wanted if not hits[each.kind]})
    if nothing:
        allowed = ", ".join(each for each in KINDS if hits[each]) or "none, as no gang can run"
        raise NothingToHitError(
            f"--fault {', '.join(nothing)}: gpu-fleet:pools and gpu-fleet:teams of "
            f"{settings.environment} give no gang such a machine; allowed here: {allowed}."
        )
    return found


def _has_spot(pool: object) -> bool:
    return isinstance(pool, AwsPoolSettings) and bool(pool.gpu_limits.get("spot"))


def _wait(watch: Watch, until_s: float) -> None:
    while watch.seconds < until_s:
        time.sleep(PAUSE_S)


def _leave_out_boots(clock: Clock, found: dict[str, float]) -> None:
    """Count the boot of a rented machine with its assumed time."""
    if "machine joined" in found and "machine asked for" in found:
        clock.leave_out(found["machine joined"] - 0.1, REAL_BOOT_S - BOOT_S, "a machine boots")


def doubled(scene: Scene) -> tuple[str, ...]:
    """Return what is there twice: machines without a NodeClaim, and two of one claim."""
    claims = scene.now["NodeClaim"].values()
    ids = [
        str((each.get("status") or {}).get("providerID", "")).rpartition("/")[2] for each in claims
    ]
    known = Counter(ids)
    told = time.time() - CLAIMED_WITHIN_S
    alive = [each for each in instances.alive(scene.directory) if each.launched < told]
    return tuple(each.id for each in alive if known[each.id] != 1)


def _lost(done: Observed) -> tuple[str, ...]:
    """Return the gangs that are gone, and the nodes of owned machines."""
    now, before = done.scene.now, done.before
    owned = {
        name
        for name, node in before["Node"].items()
        if not str(node["spec"].get("providerID", "")).startswith(machines.RENTED)
    }
    gangs = [gang.name for gang in done.scene.gangs if gang.name not in now["Gang"]]
    return (*gangs, *sorted(owned - now["Node"].keys()))


def _why_not(done: Observed) -> Iterator[str]:
    """Yield what Volcano said last of each gang that does not run."""
    scene = done.scene
    for gang in scene.gangs:
        if done.recovered or gang.runs(scene.now):
            continue
        space, _, name = gang.name.partition("/")
        events = scene.api.items(
            f"/api/v1/namespaces/{space}/events", fieldSelector="involvedObject.kind=PodGroup"
        )
        said = [each for each in events if each["involvedObject"]["name"].startswith(name)]
        for text in dict.fromkeys(str(each["message"]) for each in said[-2:]):
            yield f"{gang.name} does not run; Volcano says: {text}"


def _notes(fault: Fault) -> tuple[str, ...]:
    if isinstance(fault, ServerKilled) and fault.restarted:
        return (f"ended without it and started again: {', '.join(sorted(set(fault.restarted)))}",)
    return ()
