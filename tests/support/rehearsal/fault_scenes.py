"""Objects of a small fleet as the watch sees them: a gang on two rented machines."""

from typing import Any

from rehearsal.faults.work import Gang
from rehearsal.moves.watch import Kind, Seen
from rehearsal.smoke.jobs import RENTED, SmokeJob

JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "metadata": {"namespace": "quants", "name": "g"}}
GANG = Gang(
    job=SmokeJob(kind=RENTED, manifest=JOB, pool="burst", queue="quants", gpus=16),
    rented=True,
    members=2,
)
DISRUPTED = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


def node(name: str, *taints: dict[str, str], ready: str = "True", pool: str = "burst") -> Any:
    conditions = [{"type": "Ready", "status": ready}]
    return {
        "metadata": {"name": name, "labels": {"fleet.gpu/pool": pool}},
        "spec": {"taints": list(taints)},
        "status": {"conditions": conditions, "capacity": {"nvidia.com/gpu": "8", "cpu": "176"}},
    }


def pod(uid: str, on: str, phase: str = "Running", *, ends: bool = False) -> Any:
    metadata: dict[str, Any] = {
        "namespace": "quants",
        "name": f"g-{uid}",
        "uid": uid,
        "labels": {"volcano.sh/job-name": "g", "fleet.gpu/team": "quants"},
    }
    if ends:
        metadata["deletionTimestamp"] = "2026-11-23T12:00:00Z"
    requests = {"nvidia.com/gpu": "8", "cpu": "64"}
    containers = [{"name": "main", "resources": {"requests": requests}}]
    return {
        "metadata": metadata,
        "spec": {"nodeName": on, "containers": containers},
        "status": {"phase": phase},
    }


def job(phase: str, restarts: int = 0) -> Any:
    return {**JOB, "status": {"state": {"phase": phase}, "retryCount": restarts}}


def claim(name: str, **conditions: str) -> Any:
    listed = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return {
        "metadata": {
            "name": name,
            "labels": {"karpenter.sh/nodepool": "burst-spot"},
            "creationTimestamp": "2026-11-23T12:00:00Z",
        },
        "status": {"conditions": listed},
    }


def seen(at_s: float, kind: Kind, found: Any, *, gone: bool = False) -> Seen:
    metadata = found["metadata"]
    space = metadata.get("namespace")
    key = f"{space}/{metadata['name']}" if space else metadata["name"]
    return Seen(at_s=at_s, kind=kind, key=key, found=found, gone=gone)


RUNNING = (
    seen(0, "Node", node("a")),
    seen(0, "Node", node("b")),
    seen(0, "Node", node("owned", pool="dgx")),
    seen(0, "NodeClaim", claim("claim-a", Registered="True")),
    seen(0, "Gang", job("Running")),
    seen(0, "Pod", pod("0", "a")),
    seen(0, "Pod", pod("1", "b")),
)
"""The gang runs on a and b."""
TAKEN = (
    *RUNNING,
    seen(10.5, "Node", node("a", DISRUPTED)),
    seen(11, "Pod", pod("0", "a", ends=True)),
    seen(12, "Gang", job("Restarting", 1)),
    seen(12, "Pod", pod("0", "a", "Failed"), gone=True),
    seen(12, "Pod", pod("1", "b", "Failed"), gone=True),
    seen(14, "Node", node("a"), gone=True),
    seen(15, "NodeClaim", claim("claim-c")),
    seen(20, "Node", node("c", ready="False")),
    seen(21, "Node", node("c")),
    seen(22, "Pod", pod("2", "c")),
    seen(23, "Pod", pod("3", "b")),
    seen(24, "Gang", job("Running", 1)),
)
"""At 10 s the machine a is taken back; the gang runs again on b and c."""
