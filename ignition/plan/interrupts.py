"""Plans the interrupts of GPUs, NICs and NVMe drives: near the device, off the workload CPUs.

`irqaffinity` is one list for all NUMA nodes, so a script writes each device's own CPUs afterwards.
Vectors that the kernel manages refuse that; `isolcpus=managed_irq` moves those.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hardware.catalogue import Hardware
from ignition.plan.plan_lines import ReasonedLine
from ignition.plan.tuning import Tuning

Device = Literal["gpu", "nic", "nvme"]


@dataclass(frozen=True, kw_only=True)
class IrqAffinity:
    """The CPUs, as a kernel list, that serve the interrupts of one device."""

    device: Device
    name: str
    numa_node: int
    cpus: str


def cpus_of_nodes(
    hardware: Hardware, tuning: Tuning, housekeeping: Mapping[int, str]
) -> Mapping[int, str]:
    """The CPUs for the interrupts of each NUMA node's devices."""
    if tuning.irq == "numa-local":
        return {node.id: node.cpus for node in hardware.numa_nodes}
    return housekeeping


def irqs(hardware: Hardware, cpus: Mapping[int, str]) -> tuple[IrqAffinity, ...]:
    """Every device of the catalogue whose NUMA node is known."""
    return tuple(
        IrqAffinity(device=device, name=name, numa_node=node, cpus=cpus[node])
        for device, name, node in _devices(hardware)
    )


def _devices(hardware: Hardware) -> Iterator[tuple[Device, str, int]]:
    for gpu in hardware.gpus:
        yield "gpu", f"gpu{gpu.index}", gpu.numa_node
    for nic in hardware.nics:
        yield "nic", nic.name, nic.numa_node
    for number, drive in enumerate(hardware.nvme):
        if drive.numa_node is not None:
            yield "nvme", f"nvme{number}", drive.numa_node


def line(tuning: Tuning) -> ReasonedLine:
    """The unit that places interrupts, with its reason."""
    where = (
        "all CPUs of its NUMA node, as asked for"
        if tuning.irq == "numa-local"
        else "the housekeeping CPUs of its own NUMA node"
    )
    return ReasonedLine(
        text="unit fleet-irq.service",
        reason=f"interrupts of a GPU, NIC or NVMe drive go to {where}; again by a timer, because "
        "drivers make vectors when a device is first used",
        source="https://docs.kernel.org/core-api/irq/irq-affinity.html",
    )
