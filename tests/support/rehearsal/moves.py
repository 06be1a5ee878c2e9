"""What a watch has seen of a change: Nodes, pods and hosts, as the API server has them."""

from typing import Any

from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.watch import Seen


def node(  # noqa: PLR0913  # each test sets one or two
    name: str,
    at_s: float = 0.0,
    *,
    pool: str = "dgx",
    provider_id: str = "",
    ready: bool = True,
    on: bool = True,
    cordoned: bool = False,
    gone: bool = False,
    hardware: str = "dgx-h200",
    offers: dict[str, str] | None = None,
) -> Seen:
    """A Node of a machine with eight GPUs; without `at_s` it was there from the start."""
    status = "True" if ready else "Unknown"
    labels = {"fleet.gpu/pool": pool, "fleet.gpu/hardware": hardware}
    found = {
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"} if on else {},
        },
        "spec": {"providerID": provider_id or f"metal3://{name}", "unschedulable": cordoned},
        "status": {
            "conditions": [{"type": "Ready", "status": status}],
            "allocatable": offers or {"nvidia.com/gpu": "8"},
        },
    }
    return Seen(at_s=at_s, kind="Node", key=name, found=found, gone=gone, first=at_s == 0)


def host(name: str, at_s: float, state: str, *, powered: bool = True) -> Seen:
    """A BareMetalHost of the pool dgx."""
    found = {
        "metadata": {"name": name, "namespace": "metal3-dgx", "labels": {"fleet.gpu/pool": "dgx"}},
        "spec": {},
        "status": {"poweredOn": powered, "provisioning": {"state": state}},
    }
    return Seen(at_s=at_s, kind="BareMetalHost", key=f"metal3-dgx/{name}", found=found)


def pod(  # noqa: PLR0913  # each test sets one or two
    name: str,
    at_s: float,
    phase: str = "Running",
    *,
    on: str = "dgx-01",
    job: str = "train",
    owner: str = "Job",
    gone: bool = False,
    gpus: int = 8,
    resource: str = "nvidia.com/gpu",
    uid: str = "",
) -> Seen:
    """A pod of the Job default/train, or of another one; without `at_s` it ran at the start."""
    found: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid or name,
            "ownerReferences": [{"kind": owner, "name": job, "controller": True}],
        },
        "spec": {
            "nodeName": on,
            "containers": [{"resources": {"limits": {resource: str(gpus)}}}],
        },
        "status": {"phase": phase},
    }
    key = f"default/{name}"
    return Seen(at_s=at_s, kind="Pod", key=key, found=found, gone=gone, first=at_s == 0)


def claim(name: str, at_s: float, *, drifted: bool = True, gone: bool = False) -> Seen:
    """The NodeClaim of a Node, by default one that Karpenter has marked."""
    condition = {"type": "Drifted", "status": str(drifted), "reason": "AMIDrift"}
    found = {
        "metadata": {"name": f"burst-{name}", "labels": {"karpenter.sh/nodepool": "burst-spot"}},
        "spec": {"nodeClassRef": {"name": "burst"}},
        "status": {"nodeName": name, "conditions": [condition]},
    }
    key = f"burst-{name}"
    return Seen(at_s=at_s, kind="NodeClaim", key=key, found=found, gone=gone, first=at_s == 0)


def running(name: str = "train", hours: float = 3.0) -> RunningJob:
    """A job of the namespace default that has run for so many hours."""
    metadata = {"name": name, "namespace": "default"}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    return RunningJob(manifest=manifest, hours=hours)


def gang(members: int, hours: float = 3.0) -> RunningJob:
    """The same as a Job of Volcano, which needs so many pods."""
    metadata = {"name": "train", "namespace": "default"}
    manifest = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"tasks": [{"replicas": members}]},
    }
    return RunningJob(manifest=manifest, hours=hours)
