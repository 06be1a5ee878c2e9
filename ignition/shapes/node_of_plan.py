"""From a machine and its plan to the empty node that it becomes."""

from collections.abc import Mapping
from typing import cast

from hardware.catalogue import Hardware
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import NumaPlan
from ignition.shapes.node import (
    DEFAULT_MAX_NODES,
    DISTRIBUTE,
    FULL_CORES,
    MIB_PER_GIB,
    POLICIES,
    SCOPES,
    EmptyNode,
    NumaCell,
    ShapeError,
)

_CLOSEST = "prefer-closest-numa-nodes"
_MAX_NODES = "max-allowable-numa-nodes"
# these change which CPUs of a NUMA node a pod gets, not how many nor whether
_WITHOUT_EFFECT = frozenset({"strict-cpu-reservation", "prefer-align-cpus-by-uncorecache"})
_DISTANCE_SELF, _DISTANCE_SOCKET, _DISTANCE_REMOTE = 10, 12, 21


def from_plan(hardware: Hardware, plan: NumaPlan, most_memory_mib: int | None = None) -> EmptyNode:
    """The empty node that a machine with this plan becomes; ShapeError on unknown kubelet fields.

    The catalogue does not say which socket a NUMA node is on, nor how far two nodes are apart:
    nodes are taken to fill the sockets in order, and the own socket to be nearer than the others.
    `most_memory_mib` is of a machine that Karpenter rents.
    """
    field = plan.kubelet.get
    options = cast("Mapping[str, str]", field("topologyManagerPolicyOptions", {}))
    policy = field("topologyManagerPolicy", "none")
    scope = field("topologyManagerScope", "container")
    if field("cpuManagerPolicy") != "static":
        raise ShapeError(f"cpuManagerPolicy: {field('cpuManagerPolicy')}; known is static")
    if policy not in POLICIES or scope not in SCOPES:
        raise ShapeError(f"topologyManagerPolicy: {policy} with scope {scope} is not known")
    if unknown := options.keys() - {_CLOSEST, _MAX_NODES}:
        raise ShapeError(f"topologyManagerPolicyOptions: {', '.join(sorted(unknown))} not known")
    return EmptyNode(
        cells=_cells(hardware, plan),
        sockets=hardware.sockets,
        reserved_cpus=parse_list(plan.housekeeping),
        cpu_options=_cpu_options(cast("Mapping[str, str]", field("cpuManagerPolicyOptions", {}))),
        memory_manager=field("memoryManagerPolicy") == "Static",
        policy=policy,
        scope=scope,
        prefer_closest=options.get(_CLOSEST) == "true",
        max_numa_nodes=int(options.get(_MAX_NODES, DEFAULT_MAX_NODES)),
        most_memory_mib=most_memory_mib,
    )


def _cpu_options(options: Mapping[str, str]) -> frozenset[str]:
    chosen = frozenset(name for name, value in options.items() if value == "true")
    if unknown := chosen - {FULL_CORES, DISTRIBUTE} - _WITHOUT_EFFECT:
        raise ShapeError(f"cpuManagerPolicyOptions: {', '.join(sorted(unknown))} not known")
    return chosen - _WITHOUT_EFFECT


def _cells(hardware: Hardware, plan: NumaPlan) -> tuple[NumaCell, ...]:
    cells = []
    nodes = hardware.numa_nodes
    for position, (node, planned) in enumerate(zip(nodes, plan.nodes, strict=True)):
        cores = node.cores()
        cells.append(
            NumaCell(
                id=node.id,
                cores=cores,
                core_sockets=_sockets(hardware, position, len(cores)),
                memory_mib=node.memory_gib * MIB_PER_GIB,
                reserved_memory_mib=planned.reserved_memory_mib,
                hugepages_1gi=planned.hugepages_1gi,
                hugepages_2mi=planned.hugepages_2mi,
                gpus=tuple(gpu.index for gpu in hardware.gpus if gpu.numa_node == node.id),
                distances=tuple(_distance(hardware, position, to) for to in range(len(nodes))),
            )
        )
    return tuple(cells)


def _sockets(hardware: Hardware, position: int, cores: int) -> tuple[int, ...]:
    """The socket of each core of a NUMA node."""
    nodes = len(hardware.numa_nodes)
    if hardware.sockets <= nodes:
        return (position * hardware.sockets // nodes,) * cores
    each = hardware.sockets // nodes
    return tuple(position * each + core * each // cores for core in range(cores))


def _distance(hardware: Hardware, one: int, other: int) -> int:
    if one == other:
        return _DISTANCE_SELF
    nodes, sockets = len(hardware.numa_nodes), min(hardware.sockets, len(hardware.numa_nodes))
    near = one * sockets // nodes == other * sockets // nodes
    return _DISTANCE_SOCKET if near else _DISTANCE_REMOTE
