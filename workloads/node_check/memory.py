"""CPUs and memory by NUMA node, and the huge pages that each node got at boot."""

from collections.abc import Iterator

from hardware.cpuset import format_list, parse_list
from workloads.node_check.drift import REBOOT, REINSTALL, Drift
from workloads.node_check.machine import LiveMachine
from workloads.node_check.plan import Plan, PlannedNumaNode

NODES = "sys/devices/system/node"
_KIB_PER_GIB = 1024**2
MEMORY_SHARE = 0.9
"""Firmware and kernel keep some; a missing module of 16 takes more than a tenth of a node."""


def check(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Checks the number of NUMA nodes, then each node."""
    online = machine.cpus("sys/devices/system/cpu/online")
    if online is not None and online != parse_list(plan.cpus.online):
        yield Drift(
            check="cpus",
            what="List of CPUs online",
            seen=format_list(online),
            expected=plan.cpus.online,
            remedy="compare SMT and disabled cores in the firmware with the hardware catalogue",
        )
    there = {int(name[4:]) for name in machine.names(NODES) if name[4:].isdigit()}
    planned = {node.id for node in plan.numa_nodes}
    if there != planned:
        yield Drift(
            check="numa-nodes",
            what="List of NUMA nodes",
            seen=format_list(there) or "empty",
            expected=format_list(planned),
            remedy=(
                "set Sub-NUMA Clustering (Intel) or NPS (AMD) in the firmware as the hardware "
                "catalogue has it"
            ),
        )
    for node in plan.numa_nodes:
        if node.id in there:
            yield from _node(machine, node)


def _node(machine: LiveMachine, node: PlannedNumaNode) -> Iterator[Drift]:
    folder = f"{NODES}/node{node.id}"
    cpus = machine.cpus(f"{folder}/cpulist")
    if cpus is not None and cpus != parse_list(node.cpus):
        yield Drift(
            check="numa-cpus",
            what=f"CPU list of NUMA node {node.id}",
            seen=format_list(cpus) or "empty",
            expected=node.cpus,
            remedy="compare the firmware's settings and the hardware catalogue with lscpu",
        )
    kib = _memory_kib(machine.text(f"{folder}/meminfo") or "")
    if kib is not None and kib < node.memory_gib * _KIB_PER_GIB * MEMORY_SHARE:
        yield Drift(
            check="memory",
            what=f"Memory of NUMA node {node.id}",
            seen=f"{kib / _KIB_PER_GIB:.0f} GiB",
            expected=f"about {node.memory_gib} GiB",
            remedy="look for a memory module that the firmware has taken out, and have it replaced",
        )
    for size_kb, label, wanted in (
        (1048576, "1 GiB", node.hugepages_1gi),
        (2048, "2 MiB", node.hugepages_2mi),
    ):
        pages = machine.number(f"{folder}/hugepages/hugepages-{size_kb}kB/nr_hugepages") or 0
        if pages != wanted:
            yield Drift(
                check="hugepages",
                what=f"Number of {label} pages of NUMA node {node.id}",
                seen=str(pages),
                expected=str(wanted),
                remedy=REBOOT if pages < wanted else REINSTALL,
            )


def _memory_kib(meminfo: str) -> int | None:
    for line in meminfo.splitlines():
        words = line.split()
        if "MemTotal:" in words:
            return int(words[words.index("MemTotal:") + 1])
    return None
