"""Volcano's real scheduler, as the program configures it, beside machines that kwok keeps Ready."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import SCHEDULER, Volcano, VolcanoArgs
from rehearsal.api import Api
from rehearsal.control_plane import Launcher, free_port
from rehearsal.providers.kubernetes.readiness import install_crds
from settings import Queue, Team
from tests.support.recorder import named, render
from toolchain.build import ensure

DEADLINE_S = 60.0
PERIOD_S = 0.2  # between decisions of the scheduler; Volcano's own is a second
STEADY_S = 10 * PERIOD_S
MACHINES = 4  # of the pool dgx, with eight GPUs each
SCHEDULING = "/apis/scheduling.volcano.sh/v1beta1"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Queue": f"{SCHEDULING}/queues",
    "HyperNode": "/apis/topology.volcano.sh/v1alpha1/hypernodes",
}
CLASSES = {"low": 10, "high": 20}


@dataclass(frozen=True)
class Cluster:
    """Owned machines, queues, and Volcano's scheduler."""

    api: Api
    queues: Mapping[str, Queue]

    def gang(self, queue: str, name: str, members: int = 1, priority: str = "low") -> None:
        """A PodGroup and its pods, as Volcano's controller and webhook make them of a job."""
        pool, groups = self.queues[queue].pool, f"{SCHEDULING}/namespaces/{queue}/podgroups"
        topology = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
        group: dict[str, Any] = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {
                "queue": queue,
                "minMember": members,
                "minResources": {"nvidia.com/gpu": str(8 * members)},
                "priorityClassName": priority,
                **(topology if pool == "burst" else {}),
            },
        }
        self.api.create(groups, group)
        for member in range(members):
            pod = _pod(f"{name}-{member}", name, str(pool), priority)
            self.api.create(f"/api/v1/namespaces/{queue}/pods", pod)

    def running(self) -> dict[str, int]:
        """How many pods of each queue run."""
        spaces = {queue: f"/api/v1/namespaces/{queue}/pods" for queue in self.queues}
        return {queue: sum(map(_runs, self.api.items(path))) for queue, path in spaces.items()}

    def runs(self, path: str) -> bool:
        """Whether there is such a pod and it runs."""
        found = self.api.get(path)
        return found is not None and _runs(found)

    def reaches(self, **wanted: int) -> None:
        """Waits until so many pods run."""
        wait(lambda: self.running() == wanted, lambda: f"{self.running()} instead of {wanted}")

    def settles(self, **wanted: int) -> None:
        """Waits until so many pods run, and sees that no more and no fewer do for a while."""
        self.reaches(**wanted)
        end = time.monotonic() + STEADY_S
        while time.monotonic() < end:
            assert self.running() == wanted
            time.sleep(PERIOD_S)


def _runs(pod: Mapping[str, Any]) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def start(launcher: Launcher, queues: Mapping[str, Queue]) -> Cluster:
    """Starts a control plane, the scheduler, and the machines of the pool dgx."""
    plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
    install_crds(plane.api, ensure(console=None).crds / "volcano")
    configuration = launcher.directory / "volcano.yaml"
    configuration.write_text(yaml.safe_dump(SCHEDULER))
    _make(plane.api, queues)
    command = (
        ensure(("volcano",), console=None).path("volcano"),
        "vc-scheduler",
        f"--kubeconfig={plane.kubeconfig}",
        f"--scheduler-conf={configuration}",
        f"--listen-address=127.0.0.1:{free_port()}",
        f"--schedule-period={PERIOD_S}s",
        "--leader-elect=false",
        "--cache-dumper=false",
    )
    launcher.processes.start("volcano", command, env=launcher.environment, cwd=launcher.directory)
    return Cluster(plane.api, queues)


def _make(api: Api, queues: Mapping[str, Queue]) -> None:
    """Machines, priority classes, and what the program registers for the queues."""

    def program() -> None:
        crds = Volcano("volcano", VolcanoArgs(pools={})).release
        PoolDomains("pools", PoolDomainsArgs(pools=["dgx", "burst"], crds=crds))
        teams = {"research": Team(cost_centre="4100", queues=queues)}
        pools, rented = {"dgx": 8 * MACHINES, "burst": 16}, frozenset({"burst"})
        Teams("teams", TeamsArgs(teams=teams, pools=pools, rented=rented, crds=crds))

    registered = render(program)
    for kind, path in PATHS.items():
        for each in named(registered, kind).values():
            metadata: Any = each.inputs["metadata"]
            api.apply(f"{path}/{metadata['name']}", each.inputs)
    for queue in queues:  # as Volcano's controller does
        of_volcano = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
        opened = {"metadata": {"name": queue}, "status": {"state": "Open"}}
        api.apply(f"{PATHS['Queue']}/{queue}/status", {**of_volcano, **opened})
    for name, value in CLASSES.items():
        of_kubernetes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        path = f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}"
        api.apply(path, {**of_kubernetes, "metadata": {"name": name}, "value": value})
    for number in range(MACHINES):
        api.create("/api/v1/nodes", machine(f"dgx-{number}", "dgx"))
    accounts = [f"/api/v1/namespaces/{queue}/serviceaccounts/default" for queue in queues]
    wait(lambda: all(map(api.get, accounts)), lambda: "pods need an account")


def wait(until: Callable[[], bool], problem: Callable[[], str]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not until():
        assert time.monotonic() < deadline, problem()
        time.sleep(0.2)


def machine(name: str, pool: str) -> dict[str, Any]:
    """A node with eight GPUs, which kwok makes Ready."""
    has = {"cpu": "224", "memory": "2Ti", "nvidia.com/gpu": "8", "pods": "110"}
    labels = {"fleet.gpu/pool": pool, "kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": has, "allocatable": has},
    }


def _pod(name: str, group: str, pool: str, priority: str) -> dict[str, Any]:
    bounds = {"cpu": "16", "nvidia.com/gpu": "8"}
    resources = {"requests": bounds, "limits": bounds}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": group}},
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": priority,
            "nodeSelector": {"fleet.gpu/pool": pool},
            "containers": [{"name": "train", "image": "train", "resources": resources}],
        },
    }
