"""The ground of one scheduler: a control plane, AWS's stand-in, machines that boot, Karpenter."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.api import Api, ApiServerError
from rehearsal.control_plane import ControlPlane, Launcher, Programs
from rehearsal.controllers.controller import Controllers
from rehearsal.controllers.releases import ReleaseControllers
from rehearsal.engine import environment
from rehearsal.errors import RefusedError
from rehearsal.karpenter import account, instances
from rehearsal.karpenter.launch import sell_out
from rehearsal.karpenter.server import ADDRESS
from rehearsal.nodes import NODE_CLAIMS, NODES
from rehearsal.processes import Processes
from rehearsal.providers import cloud
from rehearsal.providers.kubernetes.readiness import Discovery, install_crds
from rehearsal.twin import controller_programs
from settings import load, stack_file
from tests.support.environments import resources
from tests.support.rehearsal.rented import POOLS, register
from tests.support.rehearsal.volcano import machine
from toolchain.build import Tools

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 90.0
MERGE = {"Content-Type": "application/merge-patch+json"}
IDLE = "/api/v1/namespaces/default/pods"
KARPENTER = "karpenter"
DECIDED = "computed new nodeclaim(s) to fit pod(s)"
"""What Karpenter logs when it decides to make machines (core v1.14.1,
pkg/controllers/provisioning/scheduling/scheduler.go)."""
AWAY = frozenset({403, 404, 500, 503})
"""What the API server answers while a webhook is not there yet."""


@dataclass(kw_only=True)
class Ground:
    """A cluster in which Karpenter rents machines of dev's pool `burst`."""

    api: Api
    kubeconfig: Path
    processes: Processes
    environment: Mapping[str, str]
    tools: Tools
    owned: int = 0
    karpenter: dict[str, object] = field(default_factory=dict)
    """Settings of Karpenter's chart that are not as the fleet has them."""

    @property
    def directory(self) -> Path:
        """The folder of its files."""
        return self.processes.directory

    @property
    def place(self) -> Controllers:
        """Where controllers are started."""
        return Controllers(
            api=self.api,
            directory=self.directory,
            processes=self.processes,
            environment=self.environment,
            root=ROOT,
        )

    def wait(
        self, holds: Callable[[], object], problem: str, *, within_s: float = WITHIN_S
    ) -> None:
        """Waits until something holds; raises RefusedError with the problem where it does not."""
        deadline = time.monotonic() + within_s
        while not holds():
            self.processes.check()
            if time.monotonic() > deadline:
                raise RefusedError(f"{problem} after {within_s:.0f} s.")
            self.api.pause(0.2)

    def offer(self, path: str, body: Mapping[str, object]) -> bool:
        """Creates an object; False while a webhook that judges it does not answer."""
        try:
            self.api.create(path, body)
        except ApiServerError as error:
            if error.status in AWAY:
                return False
            raise
        return True

    def restart_karpenter(self) -> None:
        """Starts a Karpenter that remembers nothing of what was sold out, with an empty log."""
        self.place.end([KARPENTER])
        (release,) = (
            each for each in cloud.read(self.directory) if each.inputs.get("name") == KARPENTER
        )
        releases = ReleaseControllers(
            place=self.place, kinds=Discovery(self.api), programs=controller_programs(self.tools)
        )
        inputs: dict[str, Any] = dict(release.inputs)
        values = dict(inputs["values"])
        values["settings"] = {**values["settings"], **self.karpenter}
        releases.start({**inputs, "values": values})

    def rounds(self) -> int:
        """How often this Karpenter has decided to make machines."""
        log = self.processes.log(KARPENTER)
        return log.read_text(encoding="utf-8").count(DECIDED) if log.exists() else 0

    def made(self) -> set[str]:
        """The instances that AWS has ever launched."""
        return {each.id for each in instances.read(self.directory)}

    def allow(self, **machines: int) -> None:
        """Lets the pools have so many machines, by the kind of capacity."""
        for kind, count in machines.items():
            limits = {"spec": {"limits": {"nvidia.com/gpu": str(8 * count)}}}
            pool = f"{POOLS}/burst-{kind.replace('_', '-')}"
            self.api.request("PATCH", pool, limits, headers=MERGE)

    def add_owned(self, count: int) -> None:
        """Adds idle machines of the fleet's own."""
        for number in range(count):
            self.api.create(NODES, machine(f"owned-{number}", "dgx"))
        self.owned = count

    def rent_idle(self, count: int) -> None:
        """Lets Karpenter rent machines for pods that then end."""
        for number in range(count):
            self.api.create(IDLE, _short(f"short-{number}"))
        self.wait(lambda: self._on_machines() == count, "Karpenter has rented no idle machine")
        for number in range(count):
            self.api.delete(f"{IDLE}/short-{number}", dependents="Background")
        self.wait(lambda: not self.api.items(IDLE), "The pod on the idle machine does not end")

    def _on_machines(self) -> int:
        return sum(each["status"].get("phase") == "Running" for each in self.api.items(IDLE))

    def clear(self) -> None:
        """Ends every machine and lets everything be had again; the jobs are gone already."""
        sell_out(self.directory, [])
        for number in range(self.owned):
            self.api.delete(f"{NODES}/owned-{number}", dependents="Background")
        self.owned = 0
        for claim in self.api.items(NODE_CLAIMS):
            self.api.delete(f"{NODE_CLAIMS}/{claim['metadata']['name']}", dependents="Background")
        self.wait(
            lambda: not self.api.items(NODE_CLAIMS) and len(self.api.items(NODES)) == 1,
            "Machines are left",
        )


def _short(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"fleet.gpu/pool": "burst"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {"name": "a", "image": "a", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
            ],
        },
    }


@contextmanager
def opened(
    directory: Path,
    tools: Tools,
    *,
    control_plane: str,
    gates: tuple[str, ...] = (),
    apis: tuple[str, ...] = (),
) -> Iterator[Ground]:
    """Starts a ground in `directory` and ends it."""
    processes = Processes(directory)
    variables = environment(tools.environment(), processes.directory, provider_ports={})
    launcher = Launcher(
        directory=processes.directory,
        processes=processes,
        programs=Programs(
            control_plane=tools.path(control_plane),
            kwok=tools.path("kwok"),
            admitter=tools.path("admitter"),
        ),
        environment=variables,
        gates=gates,
        apis=apis,
    )
    try:
        plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
        yield _furnished(plane, processes, variables, tools)
    finally:
        processes.stop()


def _furnished(
    plane: ControlPlane, processes: Processes, variables: Mapping[str, str], tools: Tools
) -> Ground:
    """AWS, the machines, and what Karpenter reads of dev."""
    install_crds(plane.api, tools.crds / KARPENTER)
    ground = Ground(
        api=plane.api,
        kubeconfig=plane.kubeconfig,
        processes=processes,
        environment=variables,
        tools=tools,
    )
    account.write(ground.directory, load(stack_file(ROOT, "dev")))
    register(plane.api, ground.directory, resources("dev"))
    _add_on_demand(plane.api)
    plane.api.create(NODES, _services())
    for name, module in {
        "aws": "rehearsal.karpenter.server",
        "machine-loop": "rehearsal.machine_loop",
    }.items():
        words = (sys.executable, "-m", module, ground.directory)
        processes.start(name, words, env=variables, cwd=ROOT)
    ground.wait((ground.directory / ADDRESS).exists, "AWS's stand-in does not answer")
    return ground


def _services() -> dict[str, Any]:
    """The machine without GPUs that every fleet has.

    With no node at all, the scheduler of Kubernetes 1.37.0 fails for a gang (v1.37.0,
    pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, PodGroupPostFilter, reads
    a state that PreFilter has not written), and Karpenter takes its pods for no reason to act.
    """
    node = machine("services", "cpu")
    has = {name: amount for name, amount in node["status"]["capacity"].items() if "gpu" not in name}
    node["status"] = {"capacity": has, "allocatable": has}
    node["spec"] = {"taints": [{"key": "fleet.gpu/services", "effect": "NoSchedule"}]}
    return node


def _add_on_demand(api: Api) -> None:
    """Adds the pool that the program makes where `gpu_limits` has on-demand too; dev has none."""
    spec = (api.get(f"{POOLS}/burst-spot") or {})["spec"]
    for each in spec["template"]["spec"]["requirements"]:
        if each["key"] == "karpenter.sh/capacity-type":
            each["values"] = ["on-demand"]
    kind = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    name = {"metadata": {"name": "burst-on-demand"}}
    api.create(POOLS, {**kind, **name, "spec": {**spec, "weight": 10}})
