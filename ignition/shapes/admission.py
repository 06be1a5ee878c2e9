"""Decides whether an empty node admits a pod: first the scheduler's count, then the kubelet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ignition.shapes.cpu_distribution import EndlessError
from ignition.shapes.explanation import insufficiency, unlaunchable, verdict
from ignition.shapes.kubelet import KubeletOutcome, Share, run
from ignition.shapes.node import ContainerRequest, EmptyNode
from ignition.shapes.pod_request import pod_request

INSUFFICIENT = "Insufficient"
ENDLESS = "KubeletHangs"


@dataclass(frozen=True, kw_only=True)
class PodAdmission:
    """The verdict on a pod: `why` is a sentence.

    `reason` is empty for an admitted pod, else the reason that kubelet gives the failed pod
    (TopologyAffinityError, SMTAlignmentError, UnexpectedAdmissionError), Insufficient where no
    scheduler would bind it, KubeletDoesNotStart, or KubeletHangs. `aligned` says that every
    container is on NUMA nodes that suit all of its resources, `numa_nodes` which nodes these are.
    `shares` follow the containers of the pod.
    """

    admitted: bool
    reason: str
    why: str
    aligned: bool
    numa_nodes: tuple[int, ...]
    shares: tuple[Share, ...]


def insufficient(
    node: EmptyNode, pod: Sequence[ContainerRequest]
) -> dict[str, tuple[float, float]]:
    """The resources of which the pod asks for more than the node offers, as (asked, offered)."""
    whole = pod_request(pod)
    asked = {
        "cpu": whole.cpus,
        "memory": whole.memory_mib,
        "hugepages-1Gi": whole.hugepages_1gi * 1024,
        "hugepages-2Mi": whole.hugepages_2mi * 2,
        "nvidia.com/gpu": whole.gpus,
    }
    return {
        resource: (amount, node.allocatable[resource])
        for resource, amount in asked.items()
        if amount > node.allocatable[resource]
    }


def admit(node: EmptyNode, pod: Sequence[ContainerRequest]) -> PodAdmission:
    """Return the verdict on a pod for a node with nothing else on it."""
    lacking = insufficient(node, pod)
    if lacking:
        return _refused(INSUFFICIENT, _why_insufficient(node, lacking))
    try:
        outcome = run(node, pod)
    except EndlessError as error:
        return _refused(ENDLESS, f"kubelet never returns from admitting this pod: {error}")
    why = verdict(node, outcome)
    if outcome.reason:
        return _refused(outcome.reason, why)
    return PodAdmission(
        admitted=True,
        reason="",
        why=why,
        aligned=len(node.cells) == 1 or all(share.aligned for share in outcome.shares),
        numa_nodes=_used(node, outcome),
        shares=outcome.shares,
    )


def _why_insufficient(node: EmptyNode, lacking: Mapping[str, tuple[float, float]]) -> str:
    if lacking.keys() == {"memory"} and node.most_memory_mib == node.allocatable["memory"]:
        return unlaunchable(*lacking["memory"])
    return insufficiency(lacking)


def _used(node: EmptyNode, outcome: KubeletOutcome) -> tuple[int, ...]:
    if len(node.cells) == 1:
        return (node.cells[0].id,)
    return tuple(sorted({numa for share in outcome.shares for numa in share.hint}))


def _refused(reason: str, why: str) -> PodAdmission:
    return PodAdmission(
        admitted=False, reason=reason, why=why, aligned=False, numa_nodes=(), shares=()
    )
