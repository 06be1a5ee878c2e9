"""The jobs that run while a change is rehearsed, where no snapshot says which.

They are the kinds of the smoke set, with a run that outlasts the rehearsal, and on the owned
machines that those leave free, jobs that hold all GPUs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from hardware.catalogue import HardwareError
from ignition.shapes.admission import admit
from ignition.shapes.node import ContainerRequest, ShapeError
from ignition.shapes.node_of_plan import from_plan
from policies.language.manifest import quantity
from rehearsal.moves.result import ASSUMED_HOURS
from rehearsal.nodes import ClusterNode
from rehearsal.smoke.jobs import FILES, REFUSED, RUNS_FOR, smoke_jobs
from settings import Settings
from settings.names import GPU, POOL_LABEL
from settings.resolved import ResolvedPool

WHOLE_REHEARSAL = "24h"
CPUS_PER_GPU, GIB_PER_GPU = 8, 32
DAY_S = 86_400
JOB = "batch/v1/Job"
GANG = "batch.volcano.sh/v1alpha1/Job"


@dataclass(frozen=True, kw_only=True)
class RunningJob:
    """A Job or a pod to be made, its age, and the machine that it is put on, if that is known."""

    manifest: Mapping[str, Any]
    hours: float
    node: str | None = None

    @property
    def name(self) -> str:
        """Its namespace and name."""
        metadata = self.manifest["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"

    @property
    def is_gang(self) -> bool:
        """Whether it is a Job of Volcano, whose pods run together or not at all."""
        return kind_of(self.manifest) == GANG

    @property
    def needs(self) -> int:
        """As many pods must run for the job to run."""
        if not self.is_gang:
            return 1
        spec = self.manifest["spec"]
        return int(
            spec.get("minAvailable") or sum(int(each.get("replicas", 0)) for each in spec["tasks"])
        )

    @property
    def gpus_of_a_pod(self) -> int:
        """The GPUs of its largest pod."""
        spec = self.manifest["spec"]
        templates = [each["template"] for each in spec.get("tasks") or [spec] if "template" in each]
        pods = [each["spec"] for each in templates] or [spec]
        return max(sum(map(gpus_of, pod["containers"])) for pod in pods)

    @property
    def collection(self) -> str:
        """The path of its collection at the API server."""
        version = self.manifest["apiVersion"]
        plural = "pods" if self.manifest["kind"] == "Pod" else "jobs"
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}/namespaces/{self.manifest['metadata']['namespace']}/{plural}"

    @property
    def path(self) -> str:
        """Its path at the API server."""
        return f"{self.collection}/{self.manifest['metadata']['name']}"


def gpus_of(container: Mapping[str, Any]) -> int:
    """Return the whole GPUs of a container."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return int(quantity(limits.get(GPU, 0)) or 0)


def kind_of(found: Mapping[str, Any]) -> str:
    """Return group, version and kind of an object."""
    return f"{found.get('apiVersion')}/{found['kind']}"


def of_smoke_set(settings: Settings) -> list[RunningJob]:
    """Return the jobs of the smoke set that are not meant to be refused, without an end."""
    return [
        RunningJob(manifest=job.manifest, hours=ASSUMED_HOURS)
        for job in smoke_jobs(settings, runs_for=WHOLE_REHEARSAL)
        if job.kind != REFUSED
    ]


def filling(settings: Settings, nodes: Sequence[ClusterNode]) -> Iterator[RunningJob]:
    """Yield Jobs that hold all GPUs of each machine which offers whole ones, and run to the end.

    Each has one pod, of the most GPUs that a machine of the pool admits in one.
    """
    for name, pool in settings.pools.items():
        machines = [node for node in nodes if node.machine.pool == name]
        each = _gpus_of_a_pod(pool)
        for number in range(1, len(machines) * pool.hardware.gpu_count // max(each, 1) + 1):
            if each:
                yield RunningJob(
                    manifest=_job(f"{name}-holds-{number}", name, each), hours=ASSUMED_HOURS
                )


def _gpus_of_a_pod(pool: ResolvedPool) -> int:
    """Return the GPUs of the pods that fill a machine; 0 where it offers no whole ones."""
    if pool.sharing is None or pool.sharing.mode != "whole":
        return 0
    whole = pool.hardware.gpu_count
    try:
        node = from_plan(pool.hardware, pool.plan)
    except (ShapeError, HardwareError):
        return 1
    for gpus in (each for each in range(whole, 0, -1) if whole % each == 0):
        cpus, memory_mib = gpus * CPUS_PER_GPU, gpus * GIB_PER_GPU * 1024
        if admit(node, [ContainerRequest(gpus=gpus, cpus=cpus, memory_mib=memory_mib)]).admitted:
            return gpus
    return 0


def _job(name: str, pool: str, gpus: int) -> dict[str, Any]:
    """Return the smoke Job in another size, for another pool and without an end."""
    manifest: dict[str, Any] = yaml.safe_load((FILES / "one-gpu.yaml").read_text(encoding="utf-8"))
    manifest["metadata"] |= {"name": name, "namespace": "default"}
    manifest["spec"] |= {"activeDeadlineSeconds": DAY_S, "backoffLimit": 6}
    template = manifest["spec"]["template"]
    template["metadata"]["annotations"] = {RUNS_FOR: WHOLE_REHEARSAL}
    template["spec"]["nodeSelector"] = {POOL_LABEL: pool}
    wants = {
        "cpu": str(gpus * CPUS_PER_GPU),
        "memory": f"{gpus * GIB_PER_GPU}Gi",
        GPU: str(gpus),
    }
    template["spec"]["containers"][0]["resources"] = {"requests": wants, "limits": wants}
    return manifest
