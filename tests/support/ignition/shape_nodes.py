"""Nodes to ask about pods: the DGX H200 as it is planned, and small ones made by hand."""

from dataclasses import replace

from hardware.catalogue import load
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import Tuning
from ignition.shapes.node import (
    DISTRIBUTE,
    FULL_CORES,
    MIB_PER_GIB,
    ContainerRequest,
    EmptyNode,
    NumaCell,
    Policy,
)
from ignition.shapes.node_of_plan import from_plan

GIB = MIB_PER_GIB


def dgx(policy: Policy | None = None, *, pages: int = 0) -> EmptyNode:
    """Two NUMA nodes of 112 CPUs, 108 of them for pods, 4 GPUs and 1017.5 GiB each."""
    hardware = load("dgx-h200")
    tuning = Tuning(hugepages_1gi_per_numa_node=pages)
    node = from_plan(hardware, plan(hardware, tuning, "training"))
    return replace(node, policy=policy or node.policy)


def small(policy: Policy, *, numa_nodes: int = 2, cores: int = 4, gpus: int = 2) -> EmptyNode:
    """NUMA nodes of whole cores with two threads, the first core reserved, and 1 GiB for pods."""
    return EmptyNode(
        cells=tuple(
            NumaCell(
                id=numa,
                cores=tuple(
                    frozenset({core, core + numa_nodes * cores})
                    for core in range(numa * cores, (numa + 1) * cores)
                ),
                core_sockets=(numa,) * cores,
                memory_mib=GIB + 64,
                reserved_memory_mib=64,
                hugepages_1gi=0,
                hugepages_2mi=0,
                gpus=tuple(range(numa * gpus, (numa + 1) * gpus)),
                distances=tuple(10 if numa == to else 21 for to in range(numa_nodes)),
            )
            for numa in range(numa_nodes)
        ),
        sockets=numa_nodes,
        reserved_cpus=frozenset(
            cpu
            for numa in range(numa_nodes)
            for cpu in (numa * cores, numa * cores + numa_nodes * cores)
        ),
        cpu_options=frozenset({FULL_CORES, DISTRIBUTE}),
        memory_manager=True,
        policy=policy,
        scope="pod",
    )


def ask(gpus: int, cpus: float, memory_gib: float, hugepages_1gi: int = 0) -> ContainerRequest:
    """A container's request with its memory in GiB."""
    mib = round(memory_gib * GIB)
    return ContainerRequest(gpus=gpus, cpus=cpus, memory_mib=mib, hugepages_1gi=hugepages_1gi)
