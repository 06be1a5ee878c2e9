"""Empties a node: cordons it, evicts pods so that budgets hold, and waits for jobs to end.

As `kubectl drain` does, with one difference: it evicts only pods that their controller makes anew
elsewhere without loss (of a ReplicaSet or a StatefulSet). For every other pod, of a Job, a gang or
nobody, it waits until the pod has ended, because its work would be lost.
"""

from functools import partial

from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.types import PatchType

from kube.client import KubeError
from kube.kinds import Node, Pod, PodEviction
from kube.nodes import NOT_FOUND, find
from kube.waiting import Say, duration, wait

TOO_MANY = 429  # a PodDisruptionBudget refuses for now
MADE_ANEW = ("ReplicaSet", "StatefulSet", "ReplicationController")
CORDONED_BY = "fleet.gpu/cordoned-by"
"""The annotation of a Node that this program has cordoned, with the reason."""
LEAVING = "leaving"
"""The reason where the machine leaves its pool."""
SHOWN = 3


def drain(
    client: Client, node_name: str, *, timeout_s: float, say: Say, why: str = "drained"
) -> None:
    """Return when no pod is left on the node but those of DaemonSets, static and ended ones.

    `why` is one word for the annotation CORDONED_BY. Raises KubeError with the pods that stay,
    after `timeout_s`; the node remains cordoned.
    """
    cordon(client, node_name, why)
    lacking = wait(partial(_left, client, node_name), timeout_s=timeout_s, tell=say)
    if lacking:
        raise KubeError(
            f"After {duration(timeout_s)} {lacking}. The node stays cordoned: run the same command "
            "again to wait on, or end those pods first."
        )


def cordon(client: Client, node_name: str, why: str) -> None:
    """Keep new pods from the node; nothing happens where somebody has cordoned it before."""
    node = client.get(Node, node_name)
    if not (node.spec and node.spec.unschedulable):
        patch = {
            "metadata": {"annotations": {CORDONED_BY: why}},
            "spec": {"unschedulable": True},
        }
        client.patch(Node, node_name, patch, patch_type=PatchType.MERGE)


def uncordon(client: Client, node_name: str) -> bool:
    """Let pods on the node again, where this program has cordoned it; return whether it had."""
    if cordoned_by(client, node_name) is None:
        return False
    patch = {"metadata": {"annotations": {CORDONED_BY: None}}, "spec": {"unschedulable": None}}
    client.patch(Node, node_name, patch, patch_type=PatchType.MERGE)
    return True


def cordoned_by(client: Client, node_name: str) -> str | None:
    """Return why this program has cordoned a node; None where it has not, or there is none."""
    node = find(client, node_name)
    metadata = (node.metadata if node else None) or ObjectMeta()
    return (metadata.annotations or {}).get(CORDONED_BY)


def _left(client: Client, node_name: str) -> str | None:
    pods = client.list(Pod, namespace="*", fields={"spec.nodeName": node_name})
    left = [pod for pod in pods if _must_go(pod)]
    for pod in left:
        if _is_made_anew(pod) and pod.metadata and pod.metadata.deletionTimestamp is None:
            _evict(client, pod)
    if not left:
        return None
    named = [_named(pod) for pod in left]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return f"node {node_name} still runs {', '.join(named[:SHOWN])}{more}"


def _named(pod: Pod) -> str:
    metadata = pod.metadata or ObjectMeta()
    name = f"{metadata.namespace}/{metadata.name}"
    return name if _is_made_anew(pod) else f"{name} (until it ends)"


def _must_go(pod: Pod) -> bool:
    phase = pod.status.phase if pod.status else None
    metadata = pod.metadata or ObjectMeta()
    static = "kubernetes.io/config.mirror" in (metadata.annotations or {})
    of_daemon_set = any(owner.kind == "DaemonSet" for owner in metadata.ownerReferences or [])
    return phase not in {"Succeeded", "Failed"} and not static and not of_daemon_set


def _is_made_anew(pod: Pod) -> bool:
    owners = (pod.metadata.ownerReferences if pod.metadata else None) or []
    return any(owner.controller and owner.kind in MADE_ANEW for owner in owners)


def _evict(client: Client, pod: Pod) -> None:
    metadata = pod.metadata or ObjectMeta()
    eviction = PodEviction(metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace))
    try:
        client.create(eviction, str(metadata.name), namespace=metadata.namespace)
    except ApiError as error:
        if error.status.code not in {NOT_FOUND, TOO_MANY}:
            raise
