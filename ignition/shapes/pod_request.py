"""Helpers of the resource managers: a pod's total, preferred sets, and the error of a refusal."""

from collections.abc import Iterable, Mapping, Sequence

from ignition.shapes.node import ContainerRequest
from ignition.shapes.topology_manager import Hints


class ContainerRefusedError(ValueError):
    """A container that gets none of a resource; `reason` is kubelet's word for it."""

    def __init__(self, reason: str, message: str) -> None:
        """`reason` such as SMTAlignmentError, `message` as kubelet puts it."""
        super().__init__(message)
        self.reason = reason


def pod_total(pod: Sequence[ContainerRequest], amounts: Sequence[float]) -> float:
    """The largest amount that a pod has at a time: init containers run before the others."""
    sidecars, most_before = 0.0, 0.0
    for request, amount in zip(pod, amounts, strict=True):
        if request.kind == "sidecar":
            sidecars += amount
        elif request.kind == "init":
            most_before = max(most_before, sidecars + amount)
    apps = sum(
        amount for request, amount in zip(pod, amounts, strict=True) if request.kind == "app"
    )
    return max(most_before, sidecars + apps)


def pod_request(pod: Sequence[ContainerRequest]) -> ContainerRequest:
    """Sum the requests of the containers to the request of the pod."""
    return ContainerRequest(
        gpus=int(pod_total(pod, [request.gpus for request in pod])),
        cpus=pod_total(pod, [request.cpus for request in pod]),
        memory_mib=int(pod_total(pod, [request.memory_mib for request in pod])),
        hugepages_1gi=int(pod_total(pod, [request.hugepages_1gi for request in pod])),
        hugepages_2mi=int(pod_total(pod, [request.hugepages_2mi for request in pod])),
    )


def preferred_masks(enough: Mapping[int, int], usable: Iterable[int], all_nodes: int) -> Hints:
    """Hints for the usable sets; preferred are those as small as the smallest that is enough.

    `enough` has the sets of NUMA nodes that would do on an idle machine, with their sizes.
    """
    smallest = min((*enough.values(), all_nodes))
    return {mask: mask.bit_count() == smallest for mask in usable}
