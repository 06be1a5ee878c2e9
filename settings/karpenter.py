"""What Karpenter counts on a machine of a rented pool before it has ever seen one.

It takes the memory that EC2 lists, less `vmMemoryOverheadPercent`, less what the EC2NodeClass
reserves (Karpenter 1.14.1, pkg/providers/instancetype/types.go: memory, kubeReservedResources). A
pod that asks for more gets no machine, although the node would admit it. Memory in MiB.
"""

from collections.abc import Iterable, Mapping
from math import ceil

from hardware.catalogue import Hardware
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import NumaPlan

KUBELET_MAX_PODS = 110  # the kubelet's default; Karpenter's own counts addresses
DEFAULT_OVERHEAD = 0.075
"""Karpenter's own value of vmMemoryOverheadPercent, a share of 1 in spite of its name."""
DAEMONS_MIB = 512
"""More than the pods of DaemonSets ask for on a GPU node; Karpenter counts them on each new one."""
_MIB = 1 << 20


def memory_overhead(machines: Iterable[Hardware]) -> float:
    """Return vmMemoryOverheadPercent for these machines, a share of 1.

    Karpenter has one for all instance types. The largest is safe: with less it would rent a machine
    for a pod that does not fit, and again and again.
    """
    shares = [
        DEFAULT_OVERHEAD
        if machine.vm_memory_overhead_percent is None
        else machine.vm_memory_overhead_percent / 100
        for machine in machines
    ]
    return max(shares, default=DEFAULT_OVERHEAD)


def launchable_memory_mib(hardware: Hardware, plan: NumaPlan, overhead: float) -> int:
    """Return the most memory of a pod for which Karpenter launches such a machine."""
    return node_memory_mib(hardware, plan, overhead) - DAEMONS_MIB


def node_memory_mib(hardware: Hardware, plan: NumaPlan, overhead: float) -> int:
    """Return the allocatable memory that Karpenter predicts, for all pods of a node together."""
    listed = hardware.memory_gib * 1024
    kept = ceil(listed * _MIB * overhead / 1024 / 1024)
    reserved = reservations(plan)
    parts = ("systemReserved", "kubeReserved", "evictionHard")
    return listed - kept - sum(_mib(reserved[part]) for part in parts)


def reservations(plan: NumaPlan) -> dict[str, object]:
    """Return the resources that a node reserves, as fields of an EC2NodeClass.

    Karpenter does not configure the kubelet of Custom images, and predicts a node's allocatable
    resources from these fields. They are sums, because it knows neither reservedSystemCPUs nor that
    huge pages reduce the memory of pods. Without CPUs in kubeReserved it would reserve some by a
    formula of its own, and the largest pods would stay pending.
    """
    system, kube = (_reserved(plan, part) for part in ("systemReserved", "kubeReserved"))
    hugepages_mib = sum(node.hugepages_1gi * 1024 + node.hugepages_2mi * 2 for node in plan.nodes)
    system_mib = int(system["memory"].removesuffix("Mi")) + hugepages_mib
    return {
        "maxPods": plan.kubelet.get("maxPods", KUBELET_MAX_PODS),
        "systemReserved": {
            "cpu": str(len(parse_list(plan.housekeeping))),
            "memory": f"{system_mib}Mi",
        },
        "kubeReserved": {"cpu": "0", **kube},
        "evictionHard": _reserved(plan, "evictionHard"),
    }


def _reserved(plan: NumaPlan, part: str) -> dict[str, str]:
    found = plan.kubelet[part]
    if not isinstance(found, Mapping):
        raise TypeError(f"the plan of {plan.hardware} has no mapping under kubelet.{part}")
    return {str(key): str(value) for key, value in found.items()}


def _mib(part: object) -> int:
    """Return the memory of a part of the reservations."""
    assert isinstance(part, Mapping)  # noqa: S101  # it is made above
    return int((part.get("memory") or part["memory.available"]).removesuffix("Mi"))
