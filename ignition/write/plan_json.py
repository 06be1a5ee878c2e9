"""Writes /etc/fleet/plan.json: the state that a node should be in.

The check that runs on the node compares the live machine with it; null means "not checked".
"""

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan

_GPU_FACTS = (
    "index",
    "model",
    "memory_gib",
    "numa_node",
    "pcie_gen",
    "pcie_width",
    "nvlinks",
    "bar1_gib",
)
_COMPARED = ("gpus", "pcie_aspm")
"""The beginnings of facts that the node check compares with the machine."""


def expectations(
    hardware: Hardware, plan: NumaPlan, *, nvidia_driver: str | None
) -> dict[str, object]:
    """The expectations for a machine of the plan; `nvidia_driver` as in "570-open"."""
    return {
        "hardware": hardware.name,
        "purpose": plan.purpose,
        "digest": plan.digest,
        "cpus": {
            "online": hardware.cpus,
            "housekeeping": plan.housekeeping,
            "workload": plan.workload,
        },
        "kernel_arguments": list(plan.kernel_arguments),
        "absent_kernel_arguments": list(plan.system.absent_arguments),
        "sysctls": dict(plan.sysctls),
        "numa_nodes": [
            {
                "id": wired.id,
                "cpus": wired.cpus,
                "memory_gib": wired.memory_gib,
                "hugepages_1gi": planned.hugepages_1gi,
                "hugepages_2mi": planned.hugepages_2mi,
            }
            for wired, planned in zip(hardware.numa_nodes, plan.nodes, strict=True)
        ],
        "transparent_hugepages": plan.transparent_hugepages,
        "irqs": [dict(vars(irq)) for irq in plan.irqs],
        "gpus": [{fact: getattr(gpu, fact) for fact in _GPU_FACTS} for gpu in hardware.gpus],
        "pcie_aspm": hardware.pcie_aspm,
        "unverified": [fact for fact in hardware.unverified if fact.startswith(_COMPARED)],
        "nvswitch": hardware.nvswitch,
        "driver": nvidia_driver,
        "governor": plan.system.governor,
        "kubelet": dict(plan.kubelet),
        "absent_units": list(plan.system.masked_units),
    }
