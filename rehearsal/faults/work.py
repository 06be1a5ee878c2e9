"""The gangs that run while a fault is put in: those of the smoke set, without an end."""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rehearsal.api import Api
from rehearsal.errors import RehearsalError
from rehearsal.moves.watch import Kind, Watch
from rehearsal.smoke.jobs import OWNED, RENTED, SmokeJob, smoke_jobs
from settings import Settings

WHOLE_REHEARSAL = "24h"
DAY_S = 86_400
UNREACHABLE = "node.kubernetes.io/unreachable"
TOLERATED_S = 10
REAL_TOLERATED_S = 300
"""What the admission plugin DefaultTolerationSeconds gives a pod that says nothing else."""
RETRIES = 20
START_WITHIN_S = 180.0

Object: TypeAlias = Mapping[str, Any]
Now: TypeAlias = Mapping[Kind, Mapping[str, dict[str, Any]]]
"""The objects as they were seen last, by kind and key."""


@dataclass(frozen=True, kw_only=True)
class Gang:
    """A gang, whether its machines are rented, and how many pods it has."""

    job: SmokeJob
    rented: bool
    members: int

    @property
    def name(self) -> str:
        """Namespace and name."""
        return self.job.name

    def pods(self, now: Now) -> list[dict[str, Any]]:
        """Its pods, those that end included."""
        space, _, name = self.name.partition("/")
        return [
            pod
            for pod in now["Pod"].values()
            if pod["metadata"]["namespace"] == space
            and (pod["metadata"].get("labels") or {}).get("volcano.sh/job-name") == name
        ]

    def nodes(self, now: Now) -> frozenset[str]:
        """The nodes on which its pods are."""
        return frozenset(filter(None, (pod["spec"].get("nodeName") for pod in self.pods(now))))

    def runs(self, now: Now) -> bool:
        """Whether all of its pods run, on nodes that are Ready."""
        running = [
            pod
            for pod in self.pods(now)
            if pod["status"].get("phase") == "Running"
            and not pod["metadata"].get("deletionTimestamp")
            and is_ready(now["Node"].get(pod["spec"].get("nodeName", ""), {}))
        ]
        return len(running) == self.members and self._phase(now) == "Running"

    def restarts(self, now: Now) -> int:
        """How often Volcano has started it again."""
        return int((now["Gang"].get(self.name, {}).get("status") or {}).get("retryCount", 0))

    def _phase(self, now: Now) -> str:
        status = now["Gang"].get(self.name, {}).get("status") or {}
        return str((status.get("state") or {}).get("phase", ""))


def is_ready(node: Object) -> bool:
    """Whether a Node is Ready."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def latest(watch: Watch) -> Now:
    """Return what the watch has seen last, of each kind that the faults look at."""
    return {kind: watch.latest(kind) for kind in ("Node", "Pod", "NodeClaim", "Gang")}


def gangs(settings: Settings) -> tuple[Gang, ...]:
    """Return the gangs of an environment: one on owned machines, one on rented ones, or fewer."""
    wanted = {OWNED: False, RENTED: True}
    found = [job for job in smoke_jobs(settings, runs_for=WHOLE_REHEARSAL) if job.kind in wanted]
    return tuple(_gang(job, rented=wanted[job.kind]) for job in found)


def _gang(job: SmokeJob, *, rented: bool) -> Gang:
    """Make it last: no deadline, more retries, and a shorter wait for a node that is silent."""
    manifest: dict[str, Any] = copy.deepcopy(dict(job.manifest))
    manifest["metadata"]["name"] = f"fault-{manifest['metadata']['name']}"
    manifest["spec"]["maxRetry"] = RETRIES
    tolerated = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}
    for task in manifest["spec"]["tasks"]:
        spec = task["template"]["spec"]
        spec["activeDeadlineSeconds"] = DAY_S
        spec["tolerations"] = [
            *spec.get("tolerations", ()),
            {**tolerated, "tolerationSeconds": TOLERATED_S},
        ]
    members = sum(int(task["replicas"]) for task in manifest["spec"]["tasks"])
    return Gang(job=replace(job, manifest=manifest), rented=rented, members=members)


def start_anew(api: Api, watch: Watch, wanted: Sequence[Gang], check: Callable[[], None]) -> None:
    """Make the gangs that do not run anew, so that the next fault hits a fleet at work."""
    stuck = [gang for gang in wanted if not gang.runs(latest(watch))]
    for gang in stuck:
        api.delete(gang.job.path, dependents="Background")
    deadline = time.monotonic() + START_WITHIN_S
    while any(gang.name in latest(watch)["Gang"] or gang.pods(latest(watch)) for gang in stuck):
        check()
        if time.monotonic() > deadline:
            raise RehearsalError(f"{', '.join(gang.name for gang in stuck)} did not go.")
        time.sleep(0.1)
    start(api, watch, stuck, check)


def start(api: Api, watch: Watch, wanted: Sequence[Gang], check: Callable[[], None]) -> None:
    """Make the gangs and wait until they run; `check` is called meanwhile."""
    for gang in wanted:
        api.create(gang.job.collection, gang.job.manifest)
    deadline = time.monotonic() + START_WITHIN_S
    while late := [gang.name for gang in wanted if not gang.runs(latest(watch))]:
        check()
        if time.monotonic() > deadline:
            raise RehearsalError(
                f"{', '.join(late)} did not run within {START_WITHIN_S:.0f} s, and a fault needs "
                "gangs that run."
            )
        time.sleep(0.1)
