"""Karpenter itself on a real control plane, with what the program of dev registers for it."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from rehearsal.control_plane import Launcher, Programs
from rehearsal.controllers.controller import Controllers
from rehearsal.controllers.releases import ReleaseControllers
from rehearsal.engine import environment
from rehearsal.karpenter import account, instances
from rehearsal.karpenter.instances import Instance
from rehearsal.karpenter.server import ADDRESS
from rehearsal.nodes import NODE_CLAIMS, NODES
from rehearsal.processes import Processes
from rehearsal.providers import cloud
from rehearsal.providers.kubernetes.readiness import Discovery, install_crds
from rehearsal.twin import controller_programs
from settings import load, stack_file
from tests.conftest import ROOT
from tests.support.environments import resources
from tests.support.rehearsal.rented import CLASSES, register
from toolchain.build import ensure

DEADLINE_S = 60.0
MERGE = {"Content-Type": "application/merge-patch+json"}
CLASS = f"{CLASSES}/burst"
PODS = "/api/v1/namespaces/default/pods"


@dataclass(kw_only=True)
class Ground:
    """A cluster in which Karpenter rents machines of dev's pool `burst`."""

    api: Api
    processes: Processes
    environment: Mapping[str, str]
    kubeconfig: str = field(repr=False)
    number: int = 0

    @property
    def directory(self) -> Path:
        return self.processes.directory

    def pod(self, **spec: Any) -> str:
        """Creates a pod that needs all GPUs of a rented machine; returns its name."""
        self.number += 1
        name = f"gang-{self.number}"
        needs = {"nvidia.com/gpu": "8", "cpu": "64", "memory": "512Gi"}
        whole = {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"fleet.gpu/pool": "burst"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "work", "image": "x", "resources": {"limits": needs}}],
            **spec,
        }
        assert self.api.create(PODS, {"metadata": {"name": name}, "spec": whole})
        return name

    def bound(self, pod: str) -> str:
        """The node of a pod; empty where it has none."""
        return str((self.api.get(f"{PODS}/{pod}") or {}).get("spec", {}).get("nodeName", ""))

    def claims(self) -> list[dict[str, Any]]:
        return self.api.items(NODE_CLAIMS)

    def nodes(self) -> list[dict[str, Any]]:
        return self.api.items(NODES)

    def alive(self) -> list[Instance]:
        return instances.alive(self.directory)

    def patch(self, path: str, body: object) -> None:
        self.api.request("PATCH", path, body, headers=MERGE)

    def wait(self, holds: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < deadline, f"{what}\n{self.log()}"
            self.processes.check()
            time.sleep(0.1)

    def log(self) -> str:
        text = self.processes.log("karpenter")
        return text.read_text()[-6000:] if text.exists() else "Karpenter was not started."

    def start(self) -> None:
        """Starts what a rehearsal has beside its control plane: AWS and the machines."""
        for name, module in {
            "aws": "rehearsal.karpenter.server",
            "machine-loop": "rehearsal.machine_loop",
        }.items():
            words = (sys.executable, "-m", module, self.directory)
            self.processes.start(name, words, env=self.environment, cwd=ROOT)
        self.wait((self.directory / ADDRESS).exists, "AWS does not answer")

    def install(self, **settings: object) -> None:
        """Starts Karpenter with settings of its chart, or goes on with the one that runs."""
        release = self._release()
        release["values"]["settings"] |= settings
        self._releases().start(release)

    def kill(self) -> None:
        """Ends Karpenter as a machine that breaks would; its next start remembers nothing."""
        for record in self.processes.records():
            if record.name == "karpenter" and (leader := record.leader()):
                leader.kill()
        self.processes.end(["karpenter"])

    @property
    def place(self) -> Controllers:
        return Controllers(
            api=self.api,
            directory=self.directory,
            processes=self.processes,
            environment=self.environment,
            root=ROOT,
        )

    def _releases(self) -> ReleaseControllers:
        programs = controller_programs(ensure(console=None))
        return ReleaseControllers(place=self.place, kinds=Discovery(self.api), programs=programs)

    def _release(self) -> dict[str, Any]:
        things = {thing.inputs.get("name"): thing for thing in cloud.read(self.directory)}
        return dict(things["karpenter"].inputs)

    def clear(self) -> None:
        """Ends every pod and machine, as their owners would."""
        for found in self.api.items(PODS):
            self.api.delete(f"{PODS}/{found['metadata']['name']}", dependents="Background")
        for claim in self.claims():
            self.api.delete(f"{NODE_CLAIMS}/{claim['metadata']['name']}", dependents="Background")
        self.wait(lambda: not self.claims() and not self.nodes(), "machines are left")


@contextmanager
def renting(directory: Path) -> Iterator[Ground]:
    """A control plane with AWS and its machines; who asks for it installs Karpenter."""
    tools, processes = ensure(console=None), Processes(directory)
    variables = environment(tools.environment(), directory, provider_ports={})
    launcher = Launcher(
        directory=processes.directory,
        processes=processes,
        programs=Programs.of(tools),
        environment=variables,
    )
    try:
        plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
        install_crds(plane.api, tools.crds / "karpenter")
        ground = Ground(
            api=plane.api,
            processes=processes,
            environment=variables,
            kubeconfig=plane.kubeconfig.read_text(),
        )
        assert account.write(ground.directory, load(stack_file(ROOT, "dev")))
        register(plane.api, ground.directory, resources("dev"))
        ground.start()
        yield ground
    finally:
        processes.stop()
