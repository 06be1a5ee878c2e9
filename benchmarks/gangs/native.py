"""Kubernetes' own scheduler: with its gangs, and without any.

Of v1.37.0: gates in pkg/features/kube_features.go (GenericWorkload, beta and off; WorkloadWithJob,
alpha), the API in staging/src/k8s.io/api/scheduling/v1beta1, the gang of a Job in `spec.scheduling`
(staging/src/k8s.io/api/batch/v1/types.go), from which the Job controller makes Workload and
PodGroup (pkg/controller/job/job_scheduling_manager.go). The gate GangScheduling of 1.35 is gone.
"""

from typing import Any

from benchmarks.gangs.ground import Ground
from benchmarks.gangs.scenarios import QUEUES, Gang
from benchmarks.gangs.scheduler import Scheduler, batch_job
from toolchain.programs import CONTROL_PLANE, CONTROL_PLANE_NEXT

QUOTA = "a ResourceQuota as the queue"


def _install(ground: Ground) -> None:
    for queue, machines in QUEUES.items():
        ground.api.create("/api/v1/namespaces", {"metadata": {"name": queue}})
        hard = {"requests.nvidia.com/gpu": str(8 * machines)}
        body = {"metadata": {"name": "queue"}, "spec": {"hard": hard}}
        ground.api.create(f"/api/v1/namespaces/{queue}/resourcequotas", body)


def _gang(gang: Gang) -> dict[str, Any]:
    policy = {"gang": {"minCount": gang.members}}
    return batch_job(gang, scheduling={"schedulingPolicy": policy})


NATIVE = Scheduler(
    name="native",
    title="Kubernetes' gangs",
    control_plane="control-plane-next",
    programs=("control-plane-next",),
    gates=("GenericWorkload", "WorkloadWithJob"),
    apis=("scheduling.k8s.io/v1beta1",),
    settings=(QUOTA,),
    written="Job with spec.scheduling.schedulingPolicy.gang; its controller makes the PodGroup",
    jobs="batch/v1/jobs",
    install=_install,
    job=_gang,
)
PLAIN = Scheduler(
    name="plain",
    title="Kubernetes without gangs",
    control_plane="control-plane",
    settings=(QUOTA,),
    written="Job; each pod is scheduled by itself, for comparison",
    jobs="batch/v1/jobs",
    install=_install,
    job=batch_job,
)
KUBERNETES = {
    "control-plane": CONTROL_PLANE.version(),
    "control-plane-next": CONTROL_PLANE_NEXT.version(),
}
"""The version of Kubernetes, by the program of the toolchain."""
