"""The GPUs of a capture: model and memory, NUMA node, links, NVSwitch."""

from typing import Any

from hardware.catalogue import load, names
from hardware.cpuset import format_list
from hardware.importer.capture import Capture, CaptureError, GpuFacts, GpuTopology, PciDevice
from hardware.importer.nvidia_smi_query import COMMAND as QUERY
from hardware.importer.nvidia_smi_topo import COMMAND as TOPO
from hardware.machine import Gpu

MOST_LINKS = 18
"""The most NVLinks that a GPU has (Hopper and Blackwell); more seem to be there behind a switch."""


def gpus(capture: Capture) -> list[dict[str, Any]]:
    """The GPUs as they stand in a catalogue file."""
    devices = capture.gpu_devices
    topology = capture.topology
    if not devices:
        return []
    if topology is None:
        raise CaptureError(
            capture.where["devices"],
            f"{len(devices)} NVIDIA GPUs, so --topo with the output of {TOPO} is needed",
        )
    if len(topology.gpus) != len(devices):
        raise CaptureError(
            capture.where["topo"],
            f"{len(topology.gpus)} GPUs, and {capture.where['devices']} has {len(devices)}; "
            "capture both on one machine, with every GPU visible",
        )
    return [_gpu(capture, index, device) for index, device in enumerate(devices)]


def _gpu(capture: Capture, index: int, device: PciDevice) -> dict[str, Any]:
    facts = _facts(capture, index, device)
    measured = facts if isinstance(facts, GpuFacts) else None  # links are a machine's own
    found = {
        "index": index,
        "model": facts.model,
        "memory_gib": facts.memory_gib,
        "numa_node": gpu_node(capture, index),
        "pcie_gen": device.pcie_gen or (measured and measured.pcie_gen),
        "pcie_width": device.pcie_width or (measured and measured.pcie_width),
        "nvlinks": _links(capture, index),
        "bar1_gib": device.bar1_gib,
        "pci_device_id": device.id,
    }
    return {name: value for name, value in found.items() if value is not None}


def _facts(capture: Capture, index: int, device: PciDevice) -> Gpu | GpuFacts:
    """Return nvidia-smi's facts of the GPU; without them, the catalogue's for the PCI id."""
    for facts in capture.gpus or ():
        if facts.slot == device.slot:
            return facts
    if capture.gpus is not None:
        raise CaptureError(capture.where["gpus"], f"no GPU at {device.slot}")
    for name in names():
        for gpu in load(name).gpus:
            if gpu.pci_device_id == device.id:
                return gpu
    raise CaptureError(
        capture.where["devices"],
        f"GPU {index} at {device.slot} is {device.name or 'a GPU'} ({device.id}), which no machine "
        f"of the catalogue has; add --gpus with the output of {QUERY}",
    )


def gpu_node(capture: Capture, index: int) -> int:
    """The NUMA node of a GPU: nvidia-smi, PCI and the CPUs near to it must agree."""
    device = capture.gpu_devices[index]
    assert capture.topology is not None  # noqa: S101  # GPUs are read with it alone
    row = capture.topology.gpus[index]
    nodes = {cpu.numa_node for cpu in capture.processors.cpus}
    seen = {node for node in (device.numa_node, row.numa_node) if node is not None}
    if not seen and len(nodes) == 1:
        seen = nodes
    if len(seen) != 1:
        raise CaptureError(
            capture.where["topo"],
            f"the NUMA node of GPU{index} ({device.slot}) is "
            + (
                f"{row.numa_node}, and {device.numa_node} in {capture.where['devices']}"
                if seen
                else "unknown to both nvidia-smi and PCI, as in virtual machines that hide it"
            ),
        )
    (node,) = seen
    cpus = {cpu.number for cpu in capture.processors.cpus if cpu.numa_node == node}
    if row.cpus is not None and row.cpus != cpus:
        raise CaptureError(
            capture.where["topo"],
            f"GPU{index} is near the CPUs {format_list(row.cpus)}, and NUMA node {node} has "
            f"{format_list(cpus)} in lscpu; capture outside of containers and of CPU limits",
        )
    return node


def _links(capture: Capture, index: int) -> int:
    """NVLinks of a GPU: behind NVSwitch the same ones lead to every other GPU."""
    assert capture.topology is not None  # noqa: S101  # GPUs are read with it alone
    links = _link_counts(capture.topology, index)
    return max(links, default=0) if sum(links) > MOST_LINKS else sum(links)


def _link_counts(topology: GpuTopology, index: int) -> list[int]:
    relations = topology.gpus[index].relations.values()
    return [int(relation.removeprefix("NV")) for relation in relations if relation.startswith("NV")]


def nvswitch(capture: Capture) -> bool:
    """Return whether PCI shows an NVSwitch, or a GPU seems to have more links than any has."""
    topology = capture.topology
    counted = topology is not None and any(
        sum(_link_counts(topology, index)) > MOST_LINKS for index in range(len(topology.gpus))
    )
    return counted or any(device.is_nvswitch for device in capture.devices)
