"""Interrupt affinity: the default for new interrupts, and that of GPUs and NICs."""

from collections.abc import Iterator

from hardware.cpuset import format_list, parse_list, parse_mask
from workloads.node_check.drift import Drift
from workloads.node_check.machine import LiveMachine
from workloads.node_check.plan import Plan, PlannedInterrupts

PCI = "sys/bus/pci/devices"
NVIDIA = "0x10de"
_DISPLAY_CLASSES = ("0x0300", "0x0302")
"""VGA and 3D controllers: NVSwitches are NVIDIA's too, and of another class."""
_NICS = ("sys/class/infiniband", "sys/class/net")


def check(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Checks the number of drives; where the plan places interrupts, the default and each device.

    The vectors of NVMe drives are the kernel's to place (isolcpus=managed_irq), one for each CPU.
    """
    yield from _drives(machine, plan)
    if not any(each.startswith("irqaffinity=") for each in plan.kernel_arguments):
        return
    yield from _default(machine, plan)
    gpus = gpu_addresses(machine)
    for wanted in plan.irqs:
        if wanted.device == "nvme":
            continue
        address = _address(machine, wanted, gpus)
        if address is None:
            yield _missing(wanted)
        else:
            if wanted.device == "nic":  # GPUs are judged with all that the driver says of them
                yield from _placed(machine, wanted, address)
            yield from _interrupts(machine, wanted, address)


def _drives(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Counts the drives: which of them is nvme0 differs from boot to boot."""
    planned = sum(irq.device == "nvme" for irq in plan.irqs)
    seen = len(machine.names("sys/class/nvme"))
    if seen < planned:
        yield Drift(
            check="device",
            what="Number of NVMe drives",
            seen=str(seen),
            expected=f"{planned} or more",
            remedy="look for the missing one in lspci and dmesg, and have it replaced",
        )


def _default(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    text = machine.text("proc/irq/default_smp_affinity")
    wanted = parse_list(plan.cpus.housekeeping)
    # the kernel adds the CPU that it booted on
    if text is not None and parse_mask(text) | {0} != wanted | {0}:
        yield Drift(
            check="irq-default",
            what="List of CPUs for new interrupts",
            seen=format_list(parse_mask(text)),
            expected=plan.cpus.housekeeping,
            remedy="find out who wrote to /proc/irq/default_smp_affinity and reboot the node",
        )


def _missing(wanted: PlannedInterrupts) -> Drift:
    return Drift(
        check="device",
        what=f"{wanted.device} {wanted.name}",
        seen="not on the PCI bus",
        expected=f"there, on NUMA node {wanted.numa_node}",
        remedy="look for it in lspci and dmesg; a device that is gone wants a power cycle",
        critical=wanted.device == "gpu",
    )


def gpu_addresses(machine: LiveMachine) -> tuple[str, ...]:
    """Returns NVIDIA's GPUs in the order of their PCI addresses, which is that of nvidia-smi."""
    return tuple(
        address
        for address in machine.names(PCI)
        if machine.text(f"{PCI}/{address}/vendor") == NVIDIA
        and (machine.text(f"{PCI}/{address}/class") or "").startswith(_DISPLAY_CLASSES)
    )


def _address(machine: LiveMachine, wanted: PlannedInterrupts, gpus: tuple[str, ...]) -> str | None:
    if wanted.device == "gpu":
        index = int("".join(filter(str.isdigit, wanted.name)) or 0)
        return gpus[index] if index < len(gpus) else None
    found = (machine.pci_address(f"{folder}/{wanted.name}/device") for folder in _NICS)
    return next((address for address in found if address is not None), None)


def _placed(machine: LiveMachine, wanted: PlannedInterrupts, address: str) -> Iterator[Drift]:
    node = machine.number(f"{PCI}/{address}/numa_node")
    # on a machine with one node the firmware may leave it out, and the kernel says -1
    if wanted.numa_node is None or node == wanted.numa_node or (node, wanted.numa_node) == (-1, 0):
        return
    yield Drift(
        check="device-numa-node",
        what=f"NUMA node of {wanted.device} {wanted.name} ({address})",
        seen=str(node),
        expected=str(wanted.numa_node),
        remedy="compare the slot and the firmware with the hardware catalogue",
    )


def _interrupts(machine: LiveMachine, wanted: PlannedInterrupts, address: str) -> Iterator[Drift]:
    allowed = parse_list(wanted.cpus)
    astray: dict[str, frozenset[int]] = {}
    for irq in machine.names(f"{PCI}/{address}/msi_irqs"):
        cpus = machine.cpus(f"proc/irq/{irq}/effective_affinity_list")
        if cpus is not None and not cpus <= allowed:
            astray[irq] = cpus - allowed
    if astray:
        yield Drift(
            check="irq-affinity",
            what=f"Delivery of interrupts of {wanted.device} {wanted.name}",
            seen=f"on CPUs {format_list(set().union(*astray.values()))} ({len(astray)} of them)",
            expected=f"on {wanted.cpus}",
            remedy="run systemctl start fleet-irq; if they stray again, find out who moves them",
        )
