"""Runs one scenario with one scheduler, and measures it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.gangs.ground import Ground
from benchmarks.gangs.results import Row
from benchmarks.gangs.scenarios import QUEUES, Gang, Scenario
from benchmarks.gangs.scheduler import LABEL, Scheduler
from rehearsal.errors import RefusedError
from rehearsal.karpenter import instances
from rehearsal.karpenter.launch import sell_out
from rehearsal.karpenter.services import warn_of_interruption

PATIENCE_S = 60.0
"""A gang that does not run by then has not started: machines boot in 5 s here."""
IN_VAIN_S = 30.0
"""Watched where there is no room: long enough for machines that nobody needs."""
SETTLE_S = 10.0
"""Watched after the start: Karpenter decides once in 1 to 10 s."""
PAUSE_S = 0.2


@dataclass(kw_only=True)
class Watch:
    """The pods of gangs, from one look to the next."""

    bound: set[str] = field(default_factory=set)
    """By uid, as an evicted pod and the one in its place may have one name."""
    lost: set[str] = field(default_factory=set)
    running: dict[str, dict[str, str]] = field(default_factory=dict)
    """The pods that run with the machine of each, by gang."""
    most: dict[str, int] = field(default_factory=dict)
    """The most pods that ran at one time, by gang."""

    def look(self, pods: list[dict[str, Any]]) -> None:
        """Takes the pods as they are now."""
        here = {pod["metadata"]["uid"]: pod for pod in pods}
        self.bound |= {uid for uid, pod in here.items() if pod["spec"].get("nodeName")}
        self.lost |= {uid for uid in self.bound if uid not in here or _is_ended(here[uid])}
        self.running = {}
        for uid, pod in here.items():
            if pod["status"].get("phase") == "Running" and not _is_ended(pod):
                gang = pod["metadata"]["labels"][LABEL]
                self.running.setdefault(gang, {})[uid] = pod["spec"]["nodeName"]
        for gang, found in self.running.items():
            self.most[gang] = max(self.most.get(gang, 0), len(found))

    def whole(self, gangs: tuple[Gang, ...]) -> int:
        """How many of the gangs run with all their members now."""
        return sum(len(self.running.get(gang.name, ())) >= gang.members for gang in gangs)

    def started(self, gangs: tuple[Gang, ...]) -> int:
        """How many of the gangs have run with all their members."""
        return sum(self.most.get(gang.name, 0) >= gang.members for gang in gangs)


def _is_ended(pod: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod["status"].get("phase") == "Failed"


@dataclass(kw_only=True)
class Trial:
    """One scenario on a ground."""

    ground: Ground
    scheduler: Scheduler
    scenario: Scenario
    watch: Watch = field(default_factory=Watch)

    def run(self) -> Row:
        """Prepares, submits, watches; returns the row. The ground is cleared before."""
        self._prepare()
        made, rounds = self.ground.made(), self.ground.rounds()
        begun = time.monotonic()
        for gang in self.scenario.gangs:
            self._submit(gang)
        gangs, room = self.scenario.gangs, self.scenario.can_start
        if room:
            runs = self._watch(PATIENCE_S, until=lambda: self.watch.whole(gangs) >= room)
        else:
            runs = self._watch(IN_VAIN_S)
        seconds = round(time.monotonic() - begun, 1) if runs else None
        again_s = self._interrupt() if runs and self.scenario.interrupted else None
        if room:
            self._watch(SETTLE_S)
        return Row(
            scenario=self.scenario.name,
            started=self.watch.started(self.scenario.gangs),
            seconds=seconds,
            rounds=self.ground.rounds() - rounds,
            made=len(self.ground.made() - made),
            evictions=len(self.watch.lost),
            again_s=again_s,
        )

    def _prepare(self) -> None:
        ground, scenario = self.ground, self.scenario
        clear(ground, self.scheduler)
        ground.allow(spot=scenario.spot, reserved=scenario.reserved, on_demand=scenario.on_demand)
        ground.restart_karpenter()
        ground.add_owned(scenario.idle_owned)
        ground.rent_idle(scenario.idle_rented)
        if before := scenario.before:
            self._submit(before)
            if not self._watch(PATIENCE_S, until=lambda: bool(self.watch.whole((before,)))):
                raise RefusedError(f"The gang {before.name}, which is to run before, does not.")
        if scenario.sold_out:
            sell_out(ground.directory, [{"capacity": "spot"}])

    def _submit(self, gang: Gang) -> None:
        path, body = self.scheduler.path(gang.queue), self.scheduler.job(gang)
        if not self.ground.api.create(path, body):
            raise RefusedError(f"There is a job {gang.name} already.")

    def _watch(self, seconds: float, *, until: Callable[[], bool] = lambda: False) -> bool:
        """Watches for a while, or until something holds; returns whether it does."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.ground.processes.check()
            self.watch.look(pods(self.ground))
            if until():
                return True
            self.ground.api.pause(PAUSE_S)
        return False

    def _interrupt(self) -> float | None:
        """Takes back a machine; returns the seconds until all run again, None where they do not."""
        (gang,) = self.scenario.gangs
        nodes = set(self.watch.running[gang.name].values())
        victim = self._instance_of(min(nodes))
        begun, lost = time.monotonic(), len(self.watch.lost)
        warn_of_interruption(self.ground.directory, victim, "us-east-1")

        def is_whole_again() -> bool:
            return len(self.watch.lost) > lost and self.watch.whole((gang,)) == 1

        runs = self._watch(PATIENCE_S, until=is_whole_again)
        return round(time.monotonic() - begun, 1) if runs else None

    def _instance_of(self, node: str) -> str:
        found = self.ground.api.get(f"/api/v1/nodes/{node}") or {}
        named = str(found["spec"]["providerID"]).rpartition("/")[2]
        return next(each.id for each in instances.read(self.ground.directory) if each.id == named)


def pods(ground: Ground) -> list[dict[str, Any]]:
    """The pods of all gangs."""
    return [
        pod
        for queue in QUEUES
        for pod in ground.api.items(f"/api/v1/namespaces/{queue}/pods")
        if LABEL in pod["metadata"].get("labels", {})
    ]


def clear(ground: Ground, scheduler: Scheduler) -> None:
    """Ends every job, and then every machine."""
    for queue in QUEUES:
        path = scheduler.path(queue)
        for job in ground.api.items(path):
            ground.api.delete(f"{path}/{job['metadata']['name']}", dependents="Background")
    ground.wait(lambda: not pods(ground), "The pods of a deleted job stay")
    ground.clear()
