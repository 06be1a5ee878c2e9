"""What the matrix has to know of a scheduler."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.gangs.ground import Ground
from benchmarks.gangs.scenarios import Gang

WHOLE = {"nvidia.com/gpu": "8", "cpu": "64", "memory": "512Gi"}
LABEL = "fleet.gpu/gang"


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """A scheduler with its settings; `name` is its word on the command line."""

    name: str
    title: str
    control_plane: str
    """The program of the toolchain with its Kubernetes."""
    programs: tuple[str, ...] = ()
    """Programs of the toolchain that it needs besides."""
    gates: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """What of it is not as it comes, in words."""
    written: str
    """How a gang is written for it, in words."""
    jobs: str
    """The API of its jobs, after /apis/."""
    install: Callable[[Ground], None]
    """Starts its programs and makes the queues."""
    job: Callable[[Gang], Mapping[str, Any]]

    def path(self, queue: str) -> str:
        """The jobs of a queue."""
        api, _, kind = self.jobs.rpartition("/")
        return f"/apis/{api}/namespaces/{queue}/{kind}"

    @property
    def on(self) -> tuple[str, ...]:
        """Gates, API versions and settings that are not as they come, by name."""
        gates = [f"gate {gate}" for gate in self.gates]
        return (*gates, *(f"API {version}" for version in self.apis), *self.settings)


def template(gang: Gang) -> dict[str, Any]:
    """The pods of a gang: each takes all GPUs of a machine, and runs until it is ended.

    Requests are named beside limits: Volcano adds up a gang's requests before there is a pod.
    """
    work = {"name": "work", "image": "work", "resources": {"requests": WHOLE, "limits": WHOLE}}
    selector = {} if gang.anywhere else {"nodeSelector": {"fleet.gpu/pool": "burst"}}
    return {
        "metadata": {
            "labels": {LABEL: gang.name},
            "annotations": {"fleet.gpu/runs-for": "1h"},
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [work],
            **selector,
        },
    }


def batch_job(gang: Gang, **spec: Any) -> dict[str, Any]:
    """A Job of Kubernetes with a pod for each member."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": gang.name, "namespace": gang.queue},
        "spec": {
            "parallelism": gang.members,
            "completions": gang.members,
            "backoffLimit": 100,
            "template": template(gang),
            **spec,
        },
    }
