"""The nearest pod that an empty node admits, and the largest ones.

Admission changes only where a request crosses what some set of NUMA nodes has, so no more than
these amounts and the wanted one need to be tried.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan
from ignition.shapes.admission import PodAdmission, admit
from ignition.shapes.explanation import memory
from ignition.shapes.node import ContainerRequest, EmptyNode
from ignition.shapes.node_of_plan import from_plan
from ignition.shapes.topology_manager import totals


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """An admitted request, how it differs from the wanted one, and what kubelet says to it."""

    request: ContainerRequest
    changes: tuple[str, ...]
    admission: PodAdmission


class Shape(NamedTuple):
    """A pod of one container."""

    gpus: int
    cpus: int
    memory_mib: int


def nearest(node: EmptyNode, wanted: ContainerRequest, *, aligned: bool = False) -> Nearest | None:
    """The admitted pod of one container that is nearest to the wanted one; None if there is none.

    Nearest has the fewest GPUs changed, then the fewest CPUs, then the least memory, then the
    fewest huge pages; of two that are equally far, the smaller one. With `aligned` only pods count
    that are on NUMA nodes which suit all of their resources.
    """
    judge = _aligning(node) if aligned else node
    if judge is None:
        return None
    for request in _around(node, wanted):
        admission = admit(judge, [request])
        if admission.admitted:
            return Nearest(request=request, changes=_changes(wanted, request), admission=admission)
    return None


def _aligning(node: EmptyNode) -> EmptyNode | None:
    """The node with a policy that admits aligned pods alone; None where nothing is aligned."""
    if len(node.cells) == 1 or node.policy in ("restricted", "single-numa-node"):
        return node
    return None if node.policy == "none" else replace(node, policy="restricted")


def _around(node: EmptyNode, wanted: ContainerRequest) -> Iterator[ContainerRequest]:
    """Every request worth trying, the nearest first."""
    for gpus in _sorted(range(node.gpu_count + 1), wanted.gpus):
        for cpus in _cpus(node, wanted.cpus):
            for mib in _memory(node, wanted.memory_mib):
                for gib_pages in _pages(node, "hugepages-1Gi", 1024, wanted.hugepages_1gi):
                    for mib_pages in _pages(node, "hugepages-2Mi", 2, wanted.hugepages_2mi):
                        yield replace(
                            wanted,
                            gpus=gpus,
                            cpus=cpus,
                            memory_mib=mib,
                            hugepages_1gi=gib_pages,
                            hugepages_2mi=mib_pages,
                        )


def _sorted(amounts: Iterable[int], wanted: int) -> list[int]:
    return sorted(set(amounts), key=lambda amount: (abs(amount - wanted), amount))


def _cpus(node: EmptyNode, wanted: float) -> list[float]:
    """The wanted CPUs, then the counts at which another set of NUMA nodes is enough."""
    if wanted != int(wanted) or wanted == 0:  # they are shared, so only the scheduler counts them
        return [wanted, *range(min(int(wanted), int(node.allocatable["cpu"])), 0, -1)]
    group = node.core_group
    limits = {int(wanted)}
    for each in (node.cpus_of, node.free_cpus_of):
        limits.update(totals({numa: len(cpus) for numa, cpus in each.items()}).values())
    counts = {wanted}
    for limit in limits:
        counts |= {limit // group * group, -(-limit // group) * group, (limit // group + 1) * group}
    offered = node.allocatable["cpu"]
    near = _sorted((int(count) for count in counts if 0 < count <= offered), int(wanted))
    return list(near)


def _memory(node: EmptyNode, wanted: int) -> list[int]:
    """The wanted memory, then the amounts up to which and from which other sets are enough."""
    if wanted == 0:
        return [0]
    sums = set(totals({cell.id: cell.allocatable["memory"] for cell in node.cells}).values())
    offered = int(node.allocatable["memory"])
    amounts = {wanted, offered, *sums, *(total + 1 for total in sums)}
    return _sorted((mib for mib in amounts if 0 < mib <= offered), wanted)


def _pages(node: EmptyNode, resource: str, mib: int, wanted: int) -> list[int]:
    if wanted == 0:
        return [0]
    sums = totals({cell.id: cell.allocatable[resource] // mib for cell in node.cells}).values()
    offered = node.allocatable[resource] // mib
    return _sorted((pages for pages in {0, wanted, *sums} if pages <= offered), wanted)


def _changes(wanted: ContainerRequest, request: ContainerRequest) -> tuple[str, ...]:
    pairs = (
        (f"{request.gpus} GPUs", wanted.gpus, request.gpus, f"{wanted.gpus}"),
        (f"{request.cpus:g} CPUs", wanted.cpus, request.cpus, f"{wanted.cpus:g}"),
        (
            f"{memory(request.memory_mib)} of memory",
            wanted.memory_mib,
            request.memory_mib,
            memory(wanted.memory_mib),
        ),
        (
            f"{request.hugepages_1gi} pages of 1 GiB",
            wanted.hugepages_1gi,
            request.hugepages_1gi,
            f"{wanted.hugepages_1gi}",
        ),
        (
            f"{request.hugepages_2mi} pages of 2 MiB",
            wanted.hugepages_2mi,
            request.hugepages_2mi,
            f"{wanted.hugepages_2mi}",
        ),
    )
    return tuple(f"{now} instead of {then}" for now, was, is_, then in pairs if was != is_)


def largest(hardware: Hardware, plan: NumaPlan, *, aligned: bool = False) -> tuple[Shape, ...]:
    """The largest pod of one container for each number of GPUs, where any is ever admitted.

    Largest has the most CPUs, then the most memory. With `aligned` only pods count whose GPUs, CPUs
    and memory are on the same NUMA nodes and on no more than they need. A machine without GPUs has
    the one shape without.
    """
    return largest_on(from_plan(hardware, plan), aligned=aligned)


def largest_on(node: EmptyNode, *, aligned: bool = False) -> tuple[Shape, ...]:
    """Return the same as `largest`, for a node."""
    judge = _aligning(node) if aligned else node
    if judge is None:
        return ()
    counts = range(1, node.gpu_count + 1) if node.gpu_count else (0,)
    found = (_largest(judge, gpus) for gpus in counts)
    return tuple(shape for shape in found if shape is not None)


def _largest(node: EmptyNode, gpus: int) -> Shape | None:
    for cpus in _cpus(node, node.allocatable["cpu"]):
        for mib in _memory(node, int(node.allocatable["memory"])):
            if admit(node, [ContainerRequest(gpus=gpus, cpus=cpus, memory_mib=mib)]).admitted:
                return Shape(gpus, int(cpus), mib)
    return None
