"""Brings up a commit with running jobs, and says what `up` of the working tree did to them.

The program, the stack file and the packages' versions are the commit's; the twin with its stand-ins
and the settings' reader are those of the working tree.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.events import Outcome
from policies.environment import Environment, load
from rehearsal.api import Api
from rehearsal.controllers.controller import Controllers
from rehearsal.controllers.ours import start_ours
from rehearsal.engine import Engine, EngineError
from rehearsal.errors import NoBeginningError, RehearsalError
from rehearsal.karpenter import instances
from rehearsal.machines import MachineBooter
from rehearsal.metal3 import HOSTS
from rehearsal.moves import commit
from rehearsal.moves.capacity import QUEUES, Shares, deserved_gpus, price_of, shortages, twice
from rehearsal.moves.commit import Commit
from rehearsal.moves.deployed import DEPLOYED, deployed_commit
from rehearsal.moves.jobs import filling, of_smoke_set
from rehearsal.moves.lost import ended_jobs, to_be_ended, without_place
from rehearsal.moves.machines import (
    due_machines,
    installed_images,
    machine_moves,
    replaced_gateways,
)
from rehearsal.moves.rented import (
    Generations,
    Replacing,
    changed_since,
    generations,
    give_back,
    twice_rented,
)
from rehearsal.moves.result import Moves, Replaced, Waited
from rehearsal.moves.servers import ServerTimes
from rehearsal.moves.snapshot import of_snapshot
from rehearsal.moves.start import Started, start, take_away, used_nodes
from rehearsal.moves.waited import DrainedJobs
from rehearsal.moves.watch import Watch
from rehearsal.nodes import RequestedMachine
from rehearsal.progress import Progress
from rehearsal.providers import cloud
from rehearsal.twin import Twin, reopen, set_up
from rehearsal.workspace import Workspace
from settings import Cluster, Settings, SettingsError, stack_file
from settings.names import PROJECT, SERVER
from settings.yaml_reading import path_from_here
from toolchain.build import Tools

RESTART_S = 45.0
"""Jobs that were ended get so long to start again, where need be on a machine that is rented."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user wants to come from: a commit, and the file with the jobs that run."""

    commit: Commit
    snapshot: Path | None


def asked(
    root: Path, environment: str, ref: str | None, snapshot: Path | None, *, again: bool
) -> Asked | None:
    """Return what `--from` and `--jobs` mean; raises RehearsalError where they mean nothing."""
    if ref is None:
        if snapshot is not None:
            raise RehearsalError("--jobs says what runs before a change: it needs --from.")
        return None
    if again:
        raise RehearsalError(
            "--from brings up a commit in a new twin, and --again goes on with the kept one: "
            "leave one of them out."
        )
    found = _deployed(root, environment) if ref == DEPLOYED else Commit.find(root, ref)
    found.check(environment)
    if snapshot is not None:
        snapshot = snapshot.resolve()
        of_snapshot(snapshot)  # refused before anything is started
    return Asked(commit=replace(found, ref=ref), snapshot=snapshot)


def _deployed(root: Path, environment: str) -> Commit:
    sha = deployed_commit(root, environment)
    try:
        return Commit.find(root, sha)
    except RehearsalError:
        raise RehearsalError(
            f"--from deployed: {environment} was last updated from commit {sha}, which is not "
            "here: bring it by `git fetch`, in a shallow clone by `git fetch --unshallow`."
        ) from None


@dataclass(kw_only=True)
class _Before:
    """What the twin had when the update began."""

    api: Api
    started: Started
    watch: Watch
    drained: DrainedJobs
    servers: ServerTimes
    machines: list[RequestedMachine]
    gateways: dict[str, str]
    rented: Generations
    shares: Shares
    at: float
    """In seconds since the epoch."""


class Change:
    """The way from a commit to the working tree, in the twin of one rehearsal."""

    def __init__(self, workspace: Workspace, wanted: Environment, tracked: Path, of: Asked) -> None:
        self._workspace = workspace
        self._wanted = wanted
        self._tracked = tracked
        self._asked = of
        self._before: _Before | None = None

    def bring_up(
        self, tools: Tools, progress: Progress, controllers: Callable[[Twin], Controllers]
    ) -> Twin:
        """Return the twin with the commit and its jobs running, ready for the working tree."""
        folder = self._workspace.before
        try:
            self._asked.commit.write(folder)
            environment, tracked = self._read(folder)
            with progress.phase("control plane"):
                twin = set_up(self._workspace, environment, tracked, tools)
            api = twin.control_plane.api
            with progress.phase(f"up of {self._asked.commit.short}") as now:
                engine = _of_commit(twin.engine, folder.resolve())
                self._up(engine, lambda done: now.say(f"{done.finished} resources"))
            with progress.phase("jobs") as now:
                started = self._start_jobs(api, environment, controllers(twin))
                told = f"{len(started.jobs)} running"
                now.say(f"{told}, {len(started.not_running)} not" if started.not_running else told)
            twin = reopen(self._workspace, self._wanted, self._tracked, tools)
        finally:
            commit.remove(folder)
        self._before = self._begin(api, started, environment)
        return twin

    def told(self, outcome: Outcome, say: Callable[[str], None]) -> Moves:
        """Return what happened since, when Karpenter and the jobs have come to rest."""
        before, check = self._known(), self._workspace.processes.check
        rented = Replacing(
            api=before.api,
            watch=before.watch,
            changed=changed_since(before.rented, generations(before.api)),
            began=before.at,
            ended=time.time(),
            check=check,
        )
        say("waits for Karpenter")
        rented.wait()
        say("waits for jobs to start again")
        self._await_restarts(before)
        left = tuple(rented.left())
        moves, at_s = self._moves(before, outcome), round(before.watch.seconds, 1)
        to_come = {each.name for each in left if not each.by_budget}
        still = to_be_ended(before.watch.seen, before.started.jobs, to_come, at_s)
        return replace(moves, drifted=left, ended=(*moves.ended, *still))

    def so_far(self, outcome: Outcome) -> Moves:
        """Return what happened since, where the update has failed on its way."""
        return self._moves(self._known(), outcome)

    def clear(self) -> None:
        """Take away the jobs and the machines that were rented for them.

        Raises RehearsalError where Karpenter does not end those machines.
        """
        before = self._known()
        self.close()
        take_away(before.api, before.started.jobs)
        give_back(before.api, self._workspace.processes.check)

    def _known(self) -> _Before:
        if self._before is None:
            raise RuntimeError("the commit was not brought up")
        return self._before

    def close(self) -> None:
        """End the watch; nothing happens where it has ended."""
        if self._before is not None:
            self._before.drained.stop()
            self._before.servers.stop()
            self._before.watch.stop()

    def _read(self, folder: Path) -> tuple[Environment, Path]:
        try:
            tracked = stack_file(folder, self._wanted.settings.environment)
            found = load(tracked)
        except SettingsError as error:
            short = self._asked.commit.short
            told = str(error).replace(f"{path_from_here(folder)}/", f"{short}:")  # for `git show`
            raise NoBeginningError(
                f"The stack file of commit {short} is not one for the working tree's settings; "
                f"rehearse without --from. {told}"
            ) from None
        check_ranges(found.settings.cluster, self._wanted.settings.cluster)
        return found, tracked

    def _up(self, engine: Engine, progress: Callable[[Outcome], None]) -> None:
        try:
            engine.up(progress)
        except EngineError as error:
            raise NoBeginningError(
                f"Commit {self._asked.commit.short} did not come up, so no change of it can be "
                f"rehearsed: {error}"
            ) from error

    def _start_jobs(self, api: Api, environment: Environment, place: Controllers) -> Started:
        check = self._workspace.processes.check
        booter = MachineBooter(api=api, directory=self._workspace.directory)
        nodes = booter.start(lambda _ready, _of: check()).nodes
        start_ours(place)
        if self._asked.snapshot:
            return start(api, of_snapshot(self._asked.snapshot), check)
        smoke = start(api, of_smoke_set(environment.settings), check)
        used = used_nodes(api, smoke.jobs)
        free = [node for node in nodes if node.name not in used]
        return smoke + start(api, list(filling(environment.settings, free)), check)

    def _begin(self, api: Api, started: Started, environment: Environment) -> _Before:
        watch = Watch(api)
        watch.start()
        drained = DrainedJobs(api, watch)
        drained.start()
        servers = ServerTimes(self._servers, lambda: watch.seconds)
        servers.start()
        return _Before(
            api=api,
            started=started,
            watch=watch,
            drained=drained,
            servers=servers,
            machines=self._machines(api),
            gateways=self._gateways(api),
            rented=generations(api),
            shares=_shares(api, environment.settings),
            at=time.time(),
        )

    def _machines(self, api: Api) -> list[RequestedMachine]:
        return MachineBooter(api=api, directory=self._workspace.directory).requested()

    def _gateways(self, api: Api) -> dict[str, str]:
        """Return the ids of the servers that are no Nodes, by name."""
        nodes = {node["spec"].get("providerID") for node in api.items("/api/v1/nodes")}
        servers = self._servers()
        return {name: id_ for name, id_ in servers.items() if f"hcloud://{id_}" not in nodes}

    def _servers(self) -> dict[str, str]:
        things = cloud.read(self._workspace.directory)
        return {each.name: each.id for each in things if each.type == SERVER}

    def _await_restarts(self, before: _Before) -> None:
        """Wait for the jobs that were ended and that are still there to start again."""
        deadline = time.monotonic() + RESTART_S
        paths = {job.name: job.path for job in before.started.jobs}
        while time.monotonic() < deadline:
            ended = ended_jobs(before.watch.seen, before.started.jobs)
            if not any(before.api.get(paths[name]) for name in without_place(ended)):
                return
            self._workspace.processes.check()
            time.sleep(0.2)

    def _moves(self, before: _Before, outcome: Outcome) -> Moves:
        settings, api, seen = self._wanted.settings, before.api, before.watch.seen
        rented = instances.read(self._workspace.directory)
        ends_s = before.watch.seconds
        twice_usd, twice_unpriced = price_of(
            twice(seen, ends_s), twice_rented(rented, before.at, time.time())
        )
        moved = machine_moves(seen)
        before.servers.look()
        gateways = replaced_gateways(
            before.gateways, self._gateways(api), before.servers.changed, round(ends_s, 1)
        )
        snapshot = self._asked.snapshot
        return Moves(
            ref=self._asked.commit.ref,
            commit=self._asked.commit.sha,
            snapshot=str(snapshot) if snapshot else None,
            jobs=len(before.started.jobs),
            gangs=sum(job.is_gang for job in before.started.jobs),
            not_running=before.started.not_running,
            ended=ended_jobs(seen, before.started.jobs),
            waited=tuple(Waited(job=w.job, node=w.node) for w in before.drained.waited),
            machines=tuple(sorted((*moved, *gateways), key=lambda move: move.at_s)),
            due=due_machines(
                before.machines,
                self._machines(api),
                installed_images(api.items(HOSTS)),
                settings,
            ),
            replaced=tuple(replaced_fields(outcome)),
            shortages=shortages(seen, before.shares, _shares(api, settings), ends_s),
            twice_usd=twice_usd,
            twice_unpriced=twice_unpriced,
        )


def _shares(api: Api, settings: Settings) -> Shares:
    return Shares(settings=settings, deserved=deserved_gpus(api.items(QUEUES)))


def check_ranges(before: Cluster, wanted: Cluster) -> None:
    """Raise NoBeginningError where a change asks a cluster for what only a new one has."""
    for key in ("pod_cidr", "service_cidr"):
        old, new = getattr(before, key), getattr(wanted, key)
        if old != new:
            raise NoBeginningError(
                f"{PROJECT}:cluster.{key} is {new}, and was {old}: the addresses of Services and "
                "pods are fixed when a cluster is made, so this is no change of one; rehearse "
                "without --from."
            )


def replaced_fields(outcome: Outcome) -> list[Replaced]:
    """Return the resources that the update replaced for fields that cannot change in place."""
    return [
        Replaced(resource=f"{each.type.rpartition(':')[2]} {each.name}", fields=each.keys)
        for each in outcome.changes
        if each.op == "replace" and each.keys
    ]


def _of_commit(engine: Engine, folder: Path) -> Engine:
    """Return the engine for the commit's program; what is deployed is held to no rules anew."""
    variables = {**engine.environment, "PYTHONPATH": str(folder)}
    return replace(engine, root=folder, environment=variables, holds_rules=False)
