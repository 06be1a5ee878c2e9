"""The jobs that run while a change is rehearsed: those of a snapshot, or a set that fills machines.

A snapshot is the output of `kubectl get jobs,vcjobs,pods --all-namespaces -o yaml`. A Job of the
default scheduler is made as it is. Any other pod is made alone and put on the machine that it runs
on, as no scheduler of its own may run in the twin.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from hardware.catalogue import HardwareError
from ignition.shapes.admission import admit
from ignition.shapes.node import ContainerRequest, ShapeError
from ignition.shapes.node_of_plan import from_plan
from rehearsal.errors import RehearsalError
from rehearsal.moves.result import ASSUMED_HOURS
from rehearsal.nodes import ClusterNode
from rehearsal.smoke.jobs import FILES
from settings import Settings
from settings.names import GPU, POOL_LABEL
from settings.resolved import ResolvedPool

RUNS_FOR = "fleet.gpu/runs-for"
WHOLE_REHEARSAL = "24h"
CPUS_PER_GPU, GIB_PER_GPU = 8, 32
DAY_S = 86_400
DEFAULT_SCHEDULER = "default-scheduler"
OF_JOBS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid")
OWN_LABELS = (*OF_JOBS, "batch.kubernetes.io/job-name")
OF_THE_CLUSTER = ("nodeName", "priority", "preemptionPolicy", "serviceAccount")
OF_ACCOUNTS = ("serviceAccountName", "schedulingGates", "ephemeralContainers")
API_ACCESS = "kube-api-access-"
"""How the names of volumes begin that the API server adds."""


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
    def collection(self) -> str:
        """The path of its collection at the API server."""
        group = "/apis/batch/v1" if self.manifest["kind"] == "Job" else "/api/v1"
        plural = "jobs" if self.manifest["kind"] == "Job" else "pods"
        return f"{group}/namespaces/{self.manifest['metadata']['namespace']}/{plural}"

    @property
    def path(self) -> str:
        """Its path at the API server."""
        return f"{self.collection}/{self.manifest['metadata']['name']}"


def running_jobs(
    settings: Settings, nodes: Sequence[ClusterNode], snapshot: Path | None
) -> list[RunningJob]:
    """Return the jobs to be started on the machines of a fleet."""
    return list(filling(settings, nodes) if snapshot is None else of_snapshot(snapshot))


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
    manifest["metadata"] = {"name": name, "namespace": "default"}
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


def of_snapshot(path: Path, now: datetime | None = None) -> list[RunningJob]:
    """Return what runs in a snapshot; raises RehearsalError for a file that is none."""
    objects = _objects(path)
    at = now or datetime.now(UTC)
    jobs = [each for each in objects if _kind(each) == "batch/v1/Job" and _is_plain(each)]
    made = {_owner_key(each["metadata"], each["metadata"]["name"]) for each in jobs}
    pods = [each for each in objects if _kind(each) == "v1/Pod" and _runs_alone(each, made)]
    found = [*(_of_job(each, at) for each in jobs), *(_of_pod(each, at) for each in pods)]
    if not found:
        raise RehearsalError(
            f"--jobs {path}: no running Job or pod is in it; allowed: the output of `kubectl get "
            "jobs,vcjobs,pods --all-namespaces -o yaml`."
        )
    return found


def _objects(path: Path) -> list[dict[str, Any]]:
    try:
        documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RehearsalError(f"--jobs {path}: cannot be read: {why}.") from None
    except yaml.YAMLError:
        raise RehearsalError(f"--jobs {path}: is not YAML.") from None
    mappings = [each for each in documents if isinstance(each, dict)]
    listed = [item for each in mappings for item in each.get("items") or [each]]
    return [
        each
        for each in listed
        if isinstance(each, dict) and {"kind", "metadata", "spec"} <= each.keys()
    ]


def _kind(found: Mapping[str, Any]) -> str:
    return f"{found.get('apiVersion')}/{found['kind']}"


def _is_plain(job: Mapping[str, Any]) -> bool:
    """Return whether a Job runs and waits for no scheduler but the default one."""
    spec = job["spec"]["template"]["spec"]
    default = spec.get("schedulerName", DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER
    return default and int((job.get("status") or {}).get("active") or 0) > 0


def _runs_alone(pod: Mapping[str, Any], made: Iterable[str]) -> bool:
    """Return whether a pod runs that neither a Job of the twin nor another controller makes."""
    owners = pod["metadata"].get("ownerReferences") or []
    others = ("DaemonSet", "Node", "ReplicaSet", "StatefulSet")
    return (
        (pod.get("status") or {}).get("phase") == "Running"
        and not any(each["kind"] in others for each in owners)
        and not any(_owner_key(pod["metadata"], each["name"]) in made for each in owners)
    )


def _owner_key(metadata: Mapping[str, Any], name: str) -> str:
    return f"{metadata.get('namespace', 'default')}/{name}"


def _of_job(job: Mapping[str, Any], now: datetime) -> RunningJob:
    kept = {"parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "completionMode"}
    template = job["spec"]["template"]
    metadata = _metadata(template.get("metadata") or {})
    metadata["annotations"] = {**metadata.get("annotations", {}), RUNS_FOR: WHOLE_REHEARSAL}
    spec = {key: value for key, value in job["spec"].items() if key in kept}
    spec["template"] = {"metadata": metadata, "spec": _pod_spec(template["spec"])}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _named(job["metadata"]),
        "spec": spec,
    }
    return RunningJob(manifest=manifest, hours=_hours(job, now))


def _of_pod(pod: Mapping[str, Any], now: datetime) -> RunningJob:
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _named(pod["metadata"]),
        "spec": _pod_spec(pod["spec"]),
    }
    return RunningJob(
        manifest=manifest, hours=_hours(pod, now), node=pod["spec"].get("nodeName") or None
    )


def _named(metadata: Mapping[str, Any]) -> dict[str, Any]:
    name = {"name": metadata["name"], "namespace": metadata.get("namespace", "default")}
    return {**name, **_metadata(metadata)}


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    labels = metadata.get("labels") or {}
    return {
        "labels": {key: value for key, value in labels.items() if key not in OWN_LABELS},
        "annotations": dict(metadata.get("annotations") or {}),
    }


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod's spec without what a cluster has added to it."""
    left = {k: v for k, v in spec.items() if k not in (*OF_THE_CLUSTER, *OF_ACCOUNTS)}
    left["automountServiceAccountToken"] = False
    left["volumes"] = _not_of_accounts(spec.get("volumes"))
    for part in ("containers", "initContainers"):
        if part in spec:
            left[part] = [
                {**each, "volumeMounts": _not_of_accounts(each.get("volumeMounts"))}
                for each in spec[part]
            ]
    return left


def _not_of_accounts(named: Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    return [each for each in named or () if not str(each["name"]).startswith(API_ACCESS)]


def _hours(found: Mapping[str, Any], now: datetime) -> float:
    """Return for how long it has run; 0 where the snapshot does not say it."""
    started = (found.get("status") or {}).get("startTime")
    if not started:
        return 0.0
    at = started if isinstance(started, datetime) else datetime.fromisoformat(str(started))
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round(max(0.0, (now - at).total_seconds()) / 3600, 2)
