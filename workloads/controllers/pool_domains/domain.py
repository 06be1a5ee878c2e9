"""Writes into the HyperNode of a pool which of its machines cannot take work.

Volcano 1.14.1 counts the idle GPUs of every node that a HyperNode selects, also of one that is
cordoned, not Ready or tainted (pkg/scheduler/api/node_info.go: "ignore node conditions"). A gang
that fits by such a node is tried, a part of its pods is marked Schedulable, and Karpenter makes no
machine for those: nothing ever runs, and the machines that are there are kept.

The HyperNode is told the names of such nodes. A label on the nodes would not do: Volcano reads the
members of a HyperNode anew when it changes itself or a node begins to match, but not when a node
ends to (pkg/scheduler/cache/event_handlers.go, triggerUpdateHyperNode).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from workloads.api_server import ApiServer

POOL = "fleet.gpu/pool"
HOSTNAME = "kubernetes.io/hostname"
GPU_TAINT = "nvidia.com/gpu"
"""The one taint that jobs with GPUs tolerate."""
HYPER_NODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
MANAGER = "fleet-pool-domains"
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


def hyper_node(pool: str) -> str:
    """Return the name of a pool's HyperNode."""
    return f"pool-{pool}"


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The machines of one pool, as Volcano counts them."""

    api: ApiServer
    pool: str

    def update(self) -> str | None:
        """Write who cannot take work; return a sentence where that is new, else None.

        Raises ApiServerError; then the HyperNode says what it said.
        """
        # from the server's cache, as controllers list; a moment's age does no harm
        query = f"labelSelector={quote(f'{POOL}={self.pool}')}&resourceVersion=0"
        found = self.api.request("GET", f"/api/v1/nodes?{query}")
        out = unusable(found.get("items") or ())
        path = f"{HYPER_NODES}/{hyper_node(self.pool)}"
        domain = self.api.request("GET", path)
        members = without(domain["spec"]["members"], out)
        if members == domain["spec"]["members"]:
            return None
        patch = {
            "metadata": {"resourceVersion": domain["metadata"]["resourceVersion"]},
            "spec": {"members": members},
        }
        manager = f"?fieldManager={MANAGER}"
        self.api.request("PATCH", f"{path}{manager}", patch, "application/merge-patch+json")
        said = ", ".join(out) or "none"
        return f"Pool {self.pool}: machines that cannot take work are {said}."


def unusable(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the host names of the nodes that cannot take a job with GPUs, in order."""
    return sorted(
        str(node["metadata"]["labels"][HOSTNAME])
        for node in nodes
        if HOSTNAME in node["metadata"].get("labels", {}) and not takes_work(node)
    )


def takes_work(node: Mapping[str, Any]) -> bool:
    """Return whether a job with GPUs can start on a node."""
    spec, conditions = node.get("spec") or {}, (node.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    kept_away = any(
        each["key"] != GPU_TAINT and each["effect"] in _KEEPS_AWAY
        for each in spec.get("taints") or ()
    )
    leaves = "deletionTimestamp" in node["metadata"] or spec.get("unschedulable", False)
    return ready and not kept_away and not leaves


def without(members: Sequence[Mapping[str, Any]], out: Sequence[str]) -> list[dict[str, Any]]:
    """Return the members of a HyperNode that the label of its pool selects, less some hosts."""
    found = []
    for member in members:
        match = dict(member["selector"]["labelMatch"])
        match.pop("matchExpressions", None)
        if out:
            absent = {"key": HOSTNAME, "operator": "NotIn", "values": list(out)}
            match["matchExpressions"] = [absent]
        found.append({**member, "selector": {"labelMatch": match}})
    return found
