"""Runs a Job that requests GPUs, which proves that the scheduler places it on an owned machine.

Where a team has a queue for such machines the Job runs there, as a job of the team does: Volcano's
webhook gives its pod queue, pool and scheduler.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rehearsal.api import Api
from rehearsal.errors import RehearsalError
from rehearsal.nodes import ClusterNode
from settings.names import GPU, HARDWARE_LABEL, POOL_LABEL, SHARING_LABEL, VOLCANO_NAMESPACE

MANIFEST = Path(__file__).resolve().parent.parent / "workloads" / "smoke" / "one-gpu.yaml"
ADMISSION_CONFIG = f"/api/v1/namespaces/{VOLCANO_NAMESPACE}/configmaps/volcano-admission-configmap"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
GPUS = 1
DEADLINE_S = 60.0
UNSCHEDULABLE_AFTER_S = 15.0  # no machine comes later, so the scheduler's first answer is its last


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """A Job that completed."""

    name: str
    node: str
    hardware: str
    gpus: int
    cpus: str
    seconds: float  # from its creation to its completion
    queue: str = ""  # empty where Kubernetes' own scheduler placed it


def run(
    api: Api, nodes: Sequence[ClusterNode], watch: Callable[[], None], *, again: bool = False
) -> JobRun | None:
    """Run the smoke Job on an owned GPU machine; return None where none has whole GPUs.

    `watch` is called while it waits. With `again` the Job of the rehearsal before is taken away.
    Raises RehearsalError with the scheduler's message when the Job cannot be placed.
    """
    owned = [n for n in nodes if n.hardware.kind == "bare-metal" and _has_whole_gpus(n)]
    if not owned:
        return None
    queues = {node.machine.pool: _queue(api, node.machine.pool) for node in owned}
    chosen = next((node for node in owned if queues[node.machine.pool]), owned[0])
    queue = queues[chosen.machine.pool]
    manifest = _manifest(api, chosen, queue)
    namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
    if again:
        _remove(api, namespace, name, watch)
    started = time.monotonic()
    if not api.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", manifest):
        raise RehearsalError(
            f"The program makes a Job {namespace}/{name} of its own; give it another name, "
            "because the rehearsal runs workloads/smoke/one-gpu.yaml under this one."
        )
    pod = _completed_pod(api, namespace, name, watch)
    seconds = time.monotonic() - started
    node = pod["spec"]["nodeName"]
    homes = [n for n in owned if n.name == node]
    if not homes:
        raise RehearsalError(f"Job {name} completed on {node}, which is no GPU machine of yours.")
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    return JobRun(
        name=name,
        node=node,
        hardware=homes[0].hardware.name,
        gpus=int(limits[GPU]),
        cpus=str(limits["cpu"]),
        seconds=seconds,
        queue=queue,
    )


def _manifest(api: Api, node: ClusterNode, queue: str) -> dict[str, Any]:
    """Return the Job for machines like `node`, in the namespace of the queue and for its team."""
    manifest: dict[str, Any] = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    template = manifest["spec"]["template"]
    template["spec"]["nodeSelector"] = {HARDWARE_LABEL: node.hardware.name}
    manifest["metadata"]["namespace"] = "default"
    if queue:
        manifest["metadata"]["namespace"] = queue
        space = api.get(f"/api/v1/namespaces/{queue}") or {"metadata": {}}
        payers, labels = space["metadata"].get("labels") or {}, template["metadata"]["labels"]
        labels.update({key: payers[key] for key in labels if key in payers})
    return manifest


def _queue(api: Api, pool: str) -> str:
    """Return a queue with room for the Job on machines of a pool; empty where there is none.

    Volcano's webhook was told which queue has which pool; one of this pool alone comes first.
    """
    told = api.get(ADMISSION_CONFIG) or {}
    groups = yaml.safe_load((told.get("data") or {}).get("volcano-admission.conf", "")) or {}
    found: list[tuple[bool, str]] = []
    for group in groups.get("resourceGroups") or ():
        wanted = (group.get("labels") or {}).get(POOL_LABEL)
        if wanted in (None, pool):
            found += [(wanted is None, name) for name in group["object"]["value"]]
    return next((name for _, name in sorted(found) if _room(api, name) >= GPUS), "")


def _room(api: Api, queue: str) -> int:
    spec = (api.get(f"{QUEUES}/{queue}") or {}).get("spec") or {}
    return int((spec.get("capability") or {}).get(GPU, 0))


def _has_whole_gpus(node: ClusterNode) -> bool:
    whole = node.booted.labels.get(SHARING_LABEL, "whole") == "whole"
    return whole and int(node.booted.allocatable.get(GPU, 0)) >= GPUS


def _remove(api: Api, namespace: str, name: str, watch: Callable[[], None]) -> None:
    path, started = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}", time.monotonic()
    api.delete(path)
    while api.get(path):
        watch()
        if time.monotonic() - started > DEADLINE_S:
            raise RehearsalError(f"Job {name} of the last rehearsal does not go away.")
        time.sleep(0.1)


def _completed_pod(
    api: Api, namespace: str, name: str, watch: Callable[[], None]
) -> dict[str, Any]:
    """Wait until the Job is complete, and return its pod."""
    started = time.monotonic()
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
    pods = f"/api/v1/namespaces/{namespace}/pods"
    while True:
        watch()
        job = api.get(jobs) or {}
        conditions = _true_conditions(job)
        found = api.items(pods, labelSelector=f"batch.kubernetes.io/job-name={name}")
        if "Complete" in conditions and found:
            return found[0]
        if "Failed" in conditions:
            why = _kubelet_says(found) or conditions["Failed"]
            raise RehearsalError(f"Job {name} failed: {why}")
        waited = time.monotonic() - started
        refused = _scheduler_says(found[0]) if found else None
        if refused and waited > UNSCHEDULABLE_AFTER_S:
            raise RehearsalError(f"Job {name} cannot be scheduled: {refused}")
        if waited > DEADLINE_S:
            phase = found[0]["status"].get("phase") if found else "no pod"
            raise RehearsalError(
                f"Job {name} did not complete within {DEADLINE_S:.0f} s (pod: {phase})."
            )
        time.sleep(0.1)


def _true_conditions(thing: dict[str, Any]) -> dict[str, str]:
    conditions = thing.get("status", {}).get("conditions", [])
    return {c["type"]: c.get("message", "") for c in conditions if c["status"] == "True"}


def _kubelet_says(pods: Sequence[dict[str, Any]]) -> str | None:
    """Reason and message of a pod that a kubelet refused."""
    for pod in pods:
        status = pod["status"]
        if status.get("phase") == "Failed" and status.get("reason"):
            return f"{status['reason']}: {status.get('message', '')}"
    return None


def _scheduler_says(pod: dict[str, Any]) -> str | None:
    for condition in pod.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", condition.get("reason", "")))
    return None
