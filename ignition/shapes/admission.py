"""Whether an empty node ever admits a pod: the scheduler's count first, then the node's kubelet."""

from collections.abc import Sequence
from dataclasses import dataclass

from ignition.shapes.explanation import insufficiency, verdict
from ignition.shapes.kubelet import Outcome, Share, run
from ignition.shapes.node import Node, Request
from ignition.shapes.pod_request import pod_request
from ignition.shapes.spread import EndlessError

INSUFFICIENT = "Insufficient"
ENDLESS = "KubeletHangs"


@dataclass(frozen=True, kw_only=True)
class Admission:
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


def insufficient(node: Node, pod: Sequence[Request]) -> dict[str, tuple[float, float]]:
    """What the pod asks for beyond what the node offers, by resource: (asked, offered)."""
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


def admit(node: Node, pod: Sequence[Request]) -> Admission:
    """Whether the node, with nothing else on it, takes the pod."""
    lacking = insufficient(node, pod)
    if lacking:
        return _refused(INSUFFICIENT, insufficiency(lacking))
    try:
        outcome = run(node, pod)
    except EndlessError as error:
        return _refused(ENDLESS, f"kubelet never returns from admitting this pod: {error}")
    why = verdict(node, outcome)
    if outcome.reason:
        return _refused(outcome.reason, why)
    return Admission(
        admitted=True,
        reason="",
        why=why,
        aligned=len(node.cells) == 1 or all(share.aligned for share in outcome.shares),
        numa_nodes=_used(node, outcome),
        shares=outcome.shares,
    )


def _used(node: Node, outcome: Outcome) -> tuple[int, ...]:
    if len(node.cells) == 1:
        return (node.cells[0].id,)
    return tuple(sorted({numa for share in outcome.shares for numa in share.hint}))


def _refused(reason: str, why: str) -> Admission:
    return Admission(
        admitted=False, reason=reason, why=why, aligned=False, numa_nodes=(), shares=()
    )
