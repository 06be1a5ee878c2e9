"""The series of kube-state-metrics and fleet-node-check, derived from what the watch has seen.

Neither runs in a twin. Names and labels are those of kube-state-metrics 2.20
(internal/store/node.go and pod.go), of the block `customResourceState` that the program gives it,
and of fleet-node-check's own file.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from rehearsal.faults.work import Now, is_ready
from settings.names import POOL_LABEL, PREFIX, SITE_LABEL

Point: TypeAlias = tuple[str, tuple[tuple[str, str], ...], float]
"""Name, labels and value of a sample."""

DERIVED = frozenset(
    {
        "kube_node_labels",
        "kube_node_info",
        "kube_node_status_condition",
        "kube_node_status_capacity",
        "kube_pod_container_resource_requests",
        "kube_pod_status_phase",
        "kube_pod_labels",
        "kube_pod_start_time",
        "fleet_nodeclaim_created",
        "fleet_nodeclaim_condition",
        "fleet_node_check_timestamp_seconds",
        "fleet_node_check_drift",
    }
)
NODE_LABELS = (POOL_LABEL, f"{PREFIX}/sharing", SITE_LABEL)
POD_LABELS = (f"{PREFIX}/team", f"{PREFIX}/cost-centre", f"{PREFIX}/branch")
PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
PLAN_LABEL = f"{PREFIX}/numa-plan"
CHECKED_EVERY_S = 300
DRIFT = "NodeDrift"


def points(now: Now, drifts: Mapping[tuple[tuple[str, str], ...], float]) -> Iterator[Point]:
    """Yield what exporters would show; `drifts` are a check's findings by their labels.

    Times are seconds since 1970.
    """
    for node in now["Node"].values():
        yield from _node(node)
        if _condition(node, DRIFT) == "True":
            name = ("kubernetes_node", node["metadata"]["name"])
            for labels, number in drifts.items():
                yield "fleet_node_check_drift", (name, *labels), number
    for pod in now["Pod"].values():
        yield from _pod(pod)
    for claim in now["NodeClaim"].values():
        yield from _claim(claim)


def checks(now: Now, at_s: float) -> Iterator[Point]:
    """Yield when each machine was checked last, at a time of the clock that Prometheus has."""
    for name, node in now["Node"].items():
        if is_ready(node) and PLAN_LABEL in (node["metadata"].get("labels") or {}):
            checked = at_s - at_s % CHECKED_EVERY_S
            yield "fleet_node_check_timestamp_seconds", (("kubernetes_node", name),), checked


def _node(node: Mapping[str, Any]) -> Iterator[Point]:
    name = ("node", node["metadata"]["name"])
    labels = node["metadata"].get("labels") or {}
    shown = tuple((_shown(each), labels[each]) for each in NODE_LABELS if each in labels)
    yield "kube_node_labels", (name, *shown), 1.0
    yield "kube_node_info", (name,), 1.0
    ready = _condition(node, "Ready")
    for status in ("True", "False", "Unknown"):
        condition = (("condition", "Ready"), ("status", status.lower()))
        yield "kube_node_status_condition", (name, *condition), float(status == ready)
    for resource, amount in ((node.get("status") or {}).get("capacity") or {}).items():
        if resource.startswith("nvidia.com/"):
            what = (("resource", _sanitised(resource)), ("unit", "integer"))
            yield "kube_node_status_capacity", (name, *what), float(amount)


def _pod(pod: Mapping[str, Any]) -> Iterator[Point]:
    metadata, status = pod["metadata"], pod.get("status") or {}
    own = (("namespace", metadata["namespace"]), ("pod", metadata["name"]))
    whole = (*own, ("uid", metadata["uid"]))
    asked = {
        (container["name"], resource): float(amount)
        for container in pod["spec"]["containers"]
        for resource, amount in ((container.get("resources") or {}).get("requests") or {}).items()
        if resource.startswith("nvidia.com/")
    }
    if not asked:
        return
    node = ("node", pod["spec"].get("nodeName", ""))
    for (container, resource), amount in asked.items():
        what = (("container", container), ("resource", _sanitised(resource)), ("unit", "integer"))
        yield "kube_pod_container_resource_requests", (*whole, node, *what), amount
    for phase in PHASES:
        holds = float(phase == status.get("phase"))
        yield "kube_pod_status_phase", (*whole, ("phase", phase)), holds
    labels = metadata.get("labels") or {}
    shown = tuple((_shown(each), labels[each]) for each in POD_LABELS if each in labels)
    yield "kube_pod_labels", (*whole, *shown), 1.0
    if began := status.get("startTime"):
        yield "kube_pod_start_time", whole, _epoch(began)


def _claim(claim: Mapping[str, Any]) -> Iterator[Point]:
    metadata = claim["metadata"]
    labels = metadata.get("labels") or {}
    own = (
        ("nodeclaim", metadata["name"]),
        ("nodepool", labels.get("karpenter.sh/nodepool", "")),
    )
    yield "fleet_nodeclaim_created", own, _epoch(metadata["creationTimestamp"])
    for each in (claim.get("status") or {}).get("conditions") or ():
        labels = (*own, ("type", each["type"]))
        yield "fleet_nodeclaim_condition", labels, float(each["status"] == "True")


def _condition(node: Mapping[str, Any], kind: str) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return next((str(each["status"]) for each in conditions if each["type"] == kind), "")


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _sanitised(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def _shown(label: str) -> str:
    return f"label_{_sanitised(label).lower()}"
