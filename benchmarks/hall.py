"""A cluster of many owned machines, as the twin has it: boots, kubelets' admission, Volcano.

The objects of Volcano and of the queue are those that the program makes. A bare cluster has the
same machines and Kubernetes' own scheduler alone, and kwok runs each pod that is bound.
"""

import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.nodes import owned_machine
from benchmarks.recorded import recorded
from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from hardware.catalogue import load
from rehearsal.api import Api
from rehearsal.control_plane import STAGES, ControlPlane, Launcher, Programs
from rehearsal.controllers.controller import Controllers
from rehearsal.controllers.releases import ReleaseControllers
from rehearsal.device_plugin import DevicePlugin
from rehearsal.nodes import ClusterNode, RequestedMachine, register, wait_until_ready
from rehearsal.processes import Processes
from rehearsal.providers.kubernetes.readiness import Discovery, install_crds
from rehearsal.twin import controller_programs
from settings import Queue, Team
from settings.names import RELEASE
from toolchain.build import Tools

ROOT = Path(__file__).resolve().parent.parent
HARDWARE = "dgx-h200"
GPUS = 8
"""Of one machine."""
POOL, QUEUE = "dgx", "research"
ADMITTED = "      - {key: '.metadata.annotations[\"rehearsal.fleet.gpu/admitted\"]'"
"""How the line of stages.yaml begins without which kwok runs every pod that is bound."""
CREATORS = 16
REQUESTS = re.compile(r"apiserver_request_total\{(?P<labels>.*)\} (?P<count>\S+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')
JOBS = f"/apis/batch/v1/namespaces/{QUEUE}/jobs"
GANGS = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{QUEUE}/jobs"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Queue": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "HyperNode": "/apis/topology.volcano.sh/v1alpha1/hypernodes",
    "ResourceQuota": f"/api/v1/namespaces/{QUEUE}/resourcequotas",
}
PERIOD_S = 0.5
"""Between two looks at what runs."""
DEADLINE_S, OF_A_POD_S = 300.0, 1.0
"""For pods that never run alone: so long, and so much longer for each."""


@dataclass(frozen=True, kw_only=True)
class Hall:
    """A cluster with Ready machines, and its processes."""

    api: Api
    processes: Processes
    scheduler: str

    def create(self, path: str, wanted: list[dict[str, Any]]) -> None:
        """Create objects, several at a time."""
        with ThreadPoolExecutor(CREATORS) as pool:
            list(pool.map(lambda each: self.api.request("POST", path, each), wanted))

    def until_running(self, count: int) -> float:
        """Wait until so many pods run; return the most memory at once meanwhile, in GiB."""
        started, peak, most_s = time.perf_counter(), 0.0, DEADLINE_S + OF_A_POD_S * count
        while (running := self.running()) < count:
            self.processes.check()
            peak = max(peak, sum(self.memory_gib().values()))
            if time.perf_counter() - started > most_s:
                raise RuntimeError(f"{running} of {count} pods run after {most_s:.0f} s.")
            time.sleep(PERIOD_S)
        return max(peak, sum(self.memory_gib().values()))

    def running(self) -> int:
        """How many pods of the queue run."""
        path = f"/api/v1/namespaces/{QUEUE}/pods"
        return len(self.api.items(path, fieldSelector="status.phase=Running"))

    def memory_gib(self) -> dict[str, float]:
        """The memory of each process now, with its share of shared pages."""
        return {
            record.name: psutil.Process(record.pid).memory_full_info().pss / 2**30
            for record in self.processes.records()
        }

    def requests(self) -> Counter[str]:
        """How many requests the API server has answered so far, by method and kind."""
        counted = Counter[str]()
        for line in self.api.client.get("/metrics").text.splitlines():
            if found := REQUESTS.match(line):
                labels = dict(LABEL.findall(found["labels"]))
                kind = "/".join(filter(None, (labels["resource"], labels["subresource"])))
                if labels["verb"] != "WATCH" and kind:
                    counted[f"{labels['verb']} {kind}"] += int(float(found["count"]))
        return counted

    def cpu_s(self) -> dict[str, float]:
        """The CPU seconds of each process so far."""
        return {
            record.name: sum(psutil.Process(record.pid).cpu_times()[:2])
            for record in self.processes.records()
        }


@contextmanager
def hall(tools: Tools, *, machines: int, volcano: bool) -> Iterator[Hall]:
    """Yield a cluster of so many machines: with Volcano and kubelets' admission, or a bare one."""
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        directory = Path(folder)
        processes = Processes(directory)
        launcher = Launcher(
            directory=directory,
            processes=processes,
            programs=Programs.of(tools),
            environment=dict(os.environ),
        )
        try:
            plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/14")
            if volcano:
                _install_volcano(plane, launcher, tools, gpus=machines * GPUS)
            else:
                _make_bare(plane, launcher)
            _until(lambda: plane.api.get(f"/api/v1/namespaces/{QUEUE}/serviceaccounts/default"))
            _join(plane.api, machines)
            scheduler = "volcano" if volcano else "default-scheduler"
            yield Hall(api=plane.api, processes=processes, scheduler=scheduler)
            plane.api.close()
        finally:
            processes.stop()


def _make_bare(plane: ControlPlane, launcher: Launcher) -> None:
    """Let kwok run whatever is bound, and nobody admit it."""
    launcher.processes.end(["admitter", "kwok"])
    lines = STAGES.read_text(encoding="utf-8").splitlines(keepends=True)
    stages = launcher.directory / "stages.yaml"
    stages.write_text("".join(line for line in lines if not line.startswith(ADMITTED)))
    launcher.start_kwok(plane.kubeconfig, "10.244.0.0/14", stages)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": QUEUE}}
    plane.api.create(PATHS["Namespace"], space)


def _install_volcano(plane: ControlPlane, launcher: Launcher, tools: Tools, *, gpus: int) -> None:
    """Apply what the program makes for one queue, and start Volcano's programs."""
    install_crds(plane.api, tools.crds / "volcano")
    place = Controllers(
        api=plane.api,
        directory=launcher.directory,
        processes=launcher.processes,
        environment=launcher.environment,
        root=ROOT,
    )
    releases = ReleaseControllers(
        place=place, kinds=Discovery(plane.api), programs=controller_programs(tools)
    )

    def program() -> None:
        crds = Volcano("volcano", VolcanoArgs(pools={QUEUE: POOL})).release
        PoolDomains("pools", PoolDomainsArgs(pools=[POOL], crds=crds))
        team = Team(cost_centre="4100", queues={QUEUE: Queue(weight=1, gpus=gpus, pool=POOL)})
        args = TeamsArgs(teams={QUEUE: team}, pools={POOL: gpus}, rented=frozenset(), crds=crds)
        Teams("teams", args)

    for kind, inputs in recorded(program):
        if kind == RELEASE:
            space = {"apiVersion": "v1", "kind": "Namespace"}
            metadata = {"metadata": {"name": inputs["namespace"]}}
            plane.api.create(PATHS["Namespace"], {**space, **metadata})
            releases.start(inputs)
        elif path := PATHS.get(str(inputs.get("kind"))):
            plane.api.apply(f"{path}/{inputs['metadata']['name']}", inputs)
    queue = f"{PATHS['Queue']}/{QUEUE}"
    _until(lambda: (plane.api.get(queue) or {}).get("status", {}).get("state") == "Open")


def _join(api: Api, count: int) -> None:
    """Register machines of which one has booted, and wait until they are Ready."""
    hardware, plugin = load(HARDWARE), DevicePlugin(values={})
    booted = plugin.advertise(owned_machine(hardware, pool=POOL), hardware)
    nodes = [
        ClusterNode(
            machine=RequestedMachine(
                name=name,
                pool=POOL,
                site="here",
                hardware=HARDWARE,
                ignition="",
                provider_id=f"metal3://{name}",
            ),
            hardware=hardware,
            booted=replace(booted, hostname=name),
            offered=plugin.offered(booted.labels, hardware),
        )
        for name in (f"dgx-{number:04}" for number in range(count))
    ]
    register(api, nodes)
    if late := wait_until_ready(api, [node.name for node in nodes], lambda *_: None):
        raise RuntimeError(f"{len(late)} of {count} machines do not become Ready.")


def pod_template(scheduler: str) -> dict[str, Any]:
    """A pod of one GPU with its share of a machine, which runs until it is ended."""
    share = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    container = {
        "name": "main",
        "image": "train",
        "resources": {"requests": share, "limits": share},
    }
    spec = {
        "schedulerName": scheduler,
        "restartPolicy": "Never",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
    }
    return {"metadata": {"annotations": {"fleet.gpu/runs-for": "24h"}}, "spec": spec}


def job(number: int, scheduler: str) -> dict[str, Any]:
    """A Job of one such pod."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"job-{number}"},
        "spec": {"backoffLimit": 0, "template": pod_template(scheduler)},
    }


def _until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError("The cluster is not ready after 60 s.")
        time.sleep(0.1)
