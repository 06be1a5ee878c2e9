"""Volcano and Karpenter together, with owned machines, and queues that may rent.

The pool `dgx` has the owned machines that a test makes; `burst` is dev's, of which Karpenter rents
one reserved machine and as many spot machines as the limit allows.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import yaml

from components.platform.gang_buffer import GangBuffer, GangBufferArgs
from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.queue_entry import QueueEntry, QueueEntryArgs
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import SCHEDULER, Volcano, VolcanoArgs
from rehearsal.api import Api, ApiServerError
from rehearsal.controllers.ours import start_ours
from rehearsal.karpenter import instances
from rehearsal.karpenter.services import warn_of_interruption
from rehearsal.nodes import NODE_CLAIMS, NODES
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.values import Secret
from rehearsal.twin import controller_programs
from settings import Queue, Team
from tests.support.rehearsal.provider_engine import engine, made_of
from tests.support.rehearsal.rented import POOLS
from tests.support.rehearsal.renting import Ground, renting
from tests.support.rehearsal.volcano import machine
from toolchain.build import ensure
from workloads.controllers.gang_buffer.gang import SAYS, SINCE
from workloads.controllers.pool_domains.domain import takes_work

MOST = 12  # machines
OFFER = {"cpu": "176", "memory": "1900Gi", "nvidia.com/gpu": "8"}
WHOLE = {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8"}
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
SCHEDULING = "/apis/scheduling.volcano.sh/v1beta1"
GROUPS = SCHEDULING + "/namespaces/{}/podgroups"
BUFFERS = "/apis/autoscaling.x-k8s.io/v1beta1/namespaces/{}/capacitybuffers"
PASSES = 'karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}'
LONG_AGO = "2026-01-01T00:00:00Z"
GATES = {"featureGates": {"capacityBuffer": True}}
HARD = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
AGAIN = {"policies": [{"event": "PodEvicted", "action": "RestartJob"}]}
QUEUES = {
    "owned": Queue(weight=1, gpus=8 * MOST, pool="dgx"),
    "rented": Queue(weight=1, gpus=8 * MOST, pool="burst"),
    "two": Queue(weight=1, gpus=16, pool="burst"),
    "anywhere": Queue(weight=1, gpus=8 * MOST),
    "both": Queue(weight=1, gpus=8 * MOST, pools=("dgx", "burst")),
}


@dataclass(kw_only=True)
class Gangs:
    """The cluster of `renting`, with Volcano and its queues."""

    ground: Ground
    before: int = 0
    ended: int = 0

    @property
    def api(self) -> Api:
        return self.ground.api

    def owned(self, many: int) -> None:
        """Makes owned machines and waits until they take work."""
        for number in range(many):
            assert self.api.create(NODES, machine(f"dgx-{number}", "dgx"))
        self.ground.wait(
            lambda: sum(map(takes_work, self.api.items(NODES))) >= many, "owned machines not Ready"
        )

    def idle(self, many: int) -> None:
        """Rents machines for a job that then ends."""
        if many:
            self.submit("rented", "before", many, **HARD, **AGAIN)
            self.runs("rented", "before", many)
            self.end("rented", "before")
        self.before = len(self.rented())

    def submit(self, queue: str, name: str, members: int, **spec: object) -> None:
        self.api.request("POST", JOBS.format(queue), gang(queue, name, members, **spec))

    def pods(self, queue: str, job: str) -> list[dict[str, Any]]:
        path = f"/api/v1/namespaces/{queue}/pods"
        return list(self.api.items(path, labelSelector=f"volcano.sh/job-name={job}"))

    def running(self, queue: str, job: str) -> int:
        return sum(pod["status"].get("phase") == "Running" for pod in self.pods(queue, job))

    def said(self, queue: str, job: str) -> list[str]:
        """Why each pod of a job is not scheduled, by Volcano."""
        conditions = [each["status"].get("conditions", []) for each in self.pods(queue, job)]
        return [each["reason"] for found in conditions for each in found if "reason" in each]

    def runs(self, queue: str, job: str, members: int) -> None:
        self.ground.wait(
            lambda: self.running(queue, job) == members, f"{job} does not run: {self.told(queue)}"
        )

    def made(self) -> int:
        """How many machines were rented beyond those of `idle`, also if they are gone again."""
        ever = [each.id for each in instances.read(self.ground.directory)]
        return len(ever) - self.ended - self.before

    def told(self, queue: str) -> list[str]:
        """What fleet-gang-buffer says on the PodGroups of a queue."""
        groups = self.api.items(GROUPS.format(queue))
        return [each["metadata"].get("annotations", {}).get(SAYS, "") for each in groups]

    def refusal(self, path: str, body: object) -> str:
        """Why the API server refuses an object; empty where it takes it."""
        try:
            self.api.request("POST", path, body, query={"dryRun": "All"})
        except ApiServerError as error:
            return str(error)
        return ""

    def buffers(self, queue: str) -> list[dict[str, Any]]:
        return list(self.api.items(BUFFERS.format(queue)))

    def waited(self, queue: str, minutes: int) -> None:
        """Lets the gangs of a queue have waited for longer."""
        for group in self.api.items(GROUPS.format(queue)):
            metadata = group["metadata"]
            since = datetime.fromisoformat(metadata["annotations"][SINCE])
            then = (since - timedelta(minutes=minutes)).isoformat()
            path = f"{GROUPS.format(queue)}/{metadata['name']}"
            self.ground.patch(path, {"metadata": {"annotations": {SINCE: then}}})

    def is_there(self) -> bool:
        """Whether all machines that were asked for have booted."""
        return all(map(_initialized, self.api.items(NODE_CLAIMS)))

    def all_there(self) -> None:
        self.ground.wait(self.is_there, "a machine does not come")

    def aged(self) -> None:
        """Lets the pool's `consolidateAfter` be over for the machines that are there."""
        for claim in self.api.items(NODE_CLAIMS):
            if claim["status"].get("lastPodEventTime") != LONG_AGO:
                path = f"{NODE_CLAIMS}/{claim['metadata']['name']}/status"
                self.ground.patch(path, {"status": {"lastPodEventTime": LONG_AGO}})

    def is_rid_of_idle(self) -> bool:
        """Whether no rented machine is left; `consolidateAfter` is over for those that are."""
        self.aged()
        return not self.rented()

    def cordoned(self, node: str) -> None:
        self.ground.patch(f"{NODES}/{node}", {"spec": {"unschedulable": True}})

    def silent(self, node: str) -> None:
        """Ends the kubelet of a machine."""
        path = f"{NODES}/{node}"
        self.ground.patch(path, {"metadata": {"annotations": {"kwok.x-k8s.io/node": None}}})
        condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        self.ground.patch(f"{path}/status", {"status": {"conditions": [condition]}})

    def taken_back(self, machine: str) -> None:
        """Lets AWS warn of the end of a rented machine."""
        claim = self.api.get(f"{NODE_CLAIMS}/{machine}") or {}
        instance = str(claim["status"]["providerID"]).rpartition("/")[2]
        warn_of_interruption(self.ground.directory, instance, "us-east-1")

    def left_out(self, pool: str) -> str:
        """The members of a pool's domain, with the names of machines that are left out."""
        path = f"/apis/topology.volcano.sh/v1alpha1/hypernodes/pool-{pool}"
        return str((self.api.get(path) or {})["spec"]["members"])

    def more_rounds(self, queue: str, job: str) -> None:
        """Waits until Volcano has held a job back and Karpenter had nothing to decide."""
        path = GROUPS.format(queue)

        def held() -> bool:
            groups = [each for each in self.api.items(path) if job in each["metadata"]["name"]]
            return any(each.get("status", {}).get("phase") == "Pending" for each in groups)

        self.ground.wait(held, f"Volcano has not seen {job}")

    def more_passes(self, many: int = 2) -> None:
        """Waits until Karpenter has decided a few times more."""
        before = self._passes()
        self.ground.wait(lambda: self._passes() >= before + many, "Karpenter decides nothing")

    def _passes(self) -> int:
        ports = self.ground.directory / "controllers" / "release-karpenter" / "ports.json"
        url = f"http://127.0.0.1:{json.loads(ports.read_text())['metrics']}/metrics"
        lines = httpx.get(url, trust_env=False).text.splitlines()
        found = [each for each in lines if each.startswith(PASSES)]
        return int(found[0].rpartition(" ")[2]) if found else 0

    def actions(self, actions: str) -> None:
        """Gives Volcano's scheduler other actions."""
        (file,) = (self.ground.directory / "controllers").rglob("volcano-scheduler.conf")
        wanted = yaml.safe_dump({**SCHEDULER, "actions": actions}, sort_keys=False)
        if yaml.safe_load(file.read_text())["actions"] == actions:
            return
        file.write_text(wanted)
        said = f"actions=[{actions.replace(',', '')}]"
        log = self.ground.processes.log("volcano-scheduler")

        def loaded() -> bool:
            lines = [each for each in log.read_text().splitlines() if "Final state: " in each]
            return said in lines[-1]

        self.ground.wait(loaded, "Volcano does not read its configuration")

    def rented(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.api.items(NODE_CLAIMS)]

    def clear(self) -> None:
        """Ends every job and machine, as their owners would."""
        for queue in ("free", *QUEUES):
            for job in self.api.items(JOBS.format(queue)):
                self.api.delete(f"{JOBS.format(queue)}/{job['metadata']['name']}")
            gone = partial(self._has_nothing, queue)
            self.ground.wait(gone, f"pods or buffers of {queue} stay")
        for node in self.api.items(NODES):
            if node["metadata"]["labels"]["fleet.gpu/pool"] == "dgx":
                self.api.delete(f"{NODES}/{node['metadata']['name']}", dependents="Background")
        self.ground.clear()
        self.ended = len(instances.read(self.ground.directory))
        self.before = 0

    def _has_nothing(self, queue: str) -> bool:
        pods = self.api.items(f"/api/v1/namespaces/{queue}/pods")
        return not pods and not self.buffers(queue)

    def end(self, queue: str, job: str) -> None:
        self.api.delete(f"{JOBS.format(queue)}/{job}", dependents="Background")
        self.ground.wait(lambda: not self.pods(queue, job), "the pods of a deleted job stay")


def gang(queue: str, name: str, members: int, **spec: object) -> dict[str, Any]:
    """A job of Volcano whose members take a machine each and run until they are ended."""
    resources = {"requests": WHOLE, "limits": WHOLE}
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [{"name": "train", "image": "train", "resources": resources}],
        **dict(spec.pop("pod", {})),  # type: ignore[call-overload]  # a mapping
    }
    metadata = {"annotations": {"fleet.gpu/runs-for": "1h"}}
    task = {"name": "rank", "replicas": members, "template": {"metadata": metadata, "spec": pod}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": queue},
        "spec": {
            "queue": queue,
            "minAvailable": members,
            "schedulerName": "volcano",
            "tasks": [task],
            **spec,
        },
    }


def _initialized(claim: Mapping[str, Any]) -> bool:
    conditions = claim.get("status", {}).get("conditions", [])
    return any(each["type"] == "Initialized" and each["status"] == "True" for each in conditions)


def program() -> None:
    pools = {name: queue.pool for name, queue in QUEUES.items() if not queue.pools}
    spans = {name: queue.pools for name, queue in QUEUES.items() if queue.pools}
    crds = Volcano("volcano", VolcanoArgs(pools=pools, spans=spans)).release
    PoolDomains("pools", PoolDomainsArgs(pools=["dgx", "burst"], crds=crds))
    teams = {"research": Team(cost_centre="4100", queues=QUEUES)}
    gpus, rented = {"dgx": 8 * MOST, "burst": 8 * MOST}, frozenset({"burst"})
    made = Teams("teams", TeamsArgs(teams=teams, pools=gpus, rented=rented, crds=crds))
    QueueEntry("queue-entry", QueueEntryArgs(queues=QUEUES, teams=made))
    GangBuffer("gang-buffer", GangBufferArgs(queues=QUEUES, machines={"burst": OFFER}, crds=crds))


@contextmanager
def gangs(directory: Path) -> Iterator[Gangs]:
    with renting(directory) as ground:
        tools = ensure(console=None)
        provider = KubernetesProvider(
            cloud=Cloud(directory), crds=tools.crds, programs=controller_programs(tools)
        )
        made_of(program, engine(provider, directory), Secret(ground.kubeconfig))
        limit = {"spec": {"limits": {"nvidia.com/gpu": str(8 * MOST)}}}
        ground.patch(f"{POOLS}/burst-spot", limit)
        start_ours(ground.place)
        _without_rules(ground)
        ground.install(**GATES)
        yield Gangs(ground=ground)


def _without_rules(ground: Ground) -> None:
    """Makes a queue `free` and its namespace, which no rule of ours and no webhook holds."""
    ground.api.create("/api/v1/namespaces", {"metadata": {"name": "free"}})
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    spec = {"metadata": {"name": "free"}, "spec": {"weight": 1}}
    ground.api.create(f"{SCHEDULING}/queues", {**queue, **spec})
    accounts = [f"/api/v1/namespaces/{name}/serviceaccounts/default" for name in ("free", *QUEUES)]
    ground.wait(lambda: all(map(ground.api.get, accounts)), "pods need an account")
