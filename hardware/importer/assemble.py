"""Assembles a catalogue entry from the captures; CaptureError where they disagree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hardware.cpuset import format_list
from hardware.importer.capture import Capture, CaptureError, Cpu
from hardware.importer.gpus import gpus, nvswitch
from hardware.importer.nics import nics
from hardware.machine import MachineKind

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd", "Ampere": "ampere", "ARM": "arm"}


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """A catalogue entry without price; `unverified` has the facts not measured, with the reason."""

    fields: Mapping[str, Any]
    unverified: Mapping[str, str] = field(default_factory=dict)


def assemble(capture: Capture, kind: MachineKind, *, system_disk: str) -> CatalogueEntry:
    """The entry; `system_disk` is a block device of the capture or a size in GiB."""
    nodes = _numa_nodes(capture)
    unverified: dict[str, str] = {}
    disk_gib, drives = _disks(capture, system_disk, unverified)
    processors = capture.processors
    fields = {
        "arch": _known(_ARCHITECTURES, processors.architecture, "architecture", capture),
        "cpu_vendor": _known(_VENDORS, processors.vendor, "vendor", capture),
        "cpu_model": processors.model,
        "virtual": processors.virtual,
        "sockets": len({cpu.socket for cpu in processors.cpus}),
        "numa_nodes": nodes,
        "gpus": gpus(capture),
        "nics": nics(capture, unverified),
        "nvme": drives,
        "system_disk_gib": disk_gib,
        **_system_drives(capture, system_disk, kind, unverified),
        "nvswitch": nvswitch(capture),
        "efa_interfaces": sum(device.is_efa for device in capture.devices),
    }
    return CatalogueEntry(fields=fields, unverified=unverified)


def _known(table: Mapping[str, str], seen: str, what: str, capture: Capture) -> str:
    if seen not in table:
        raise CaptureError(
            capture.where["lscpu"],
            f'the {what} "{seen}" is not supported; known: {", ".join(table)}',
        )
    return table[seen]


def _numa_nodes(capture: Capture) -> list[dict[str, Any]]:
    by_node: dict[int, list[Cpu]] = {}
    for cpu in capture.processors.cpus:
        by_node.setdefault(cpu.numa_node, []).append(cpu)
    memory = capture.memory_gib
    if set(memory) != set(by_node):
        raise CaptureError(
            capture.where["memory"],
            f"memory of the NUMA nodes {_words(memory)}, and lscpu has CPUs on {_words(by_node)}; "
            "both must come from one machine, and each node needs CPUs and memory",
        )
    return [
        {"id": node, "threads": _threads(cpus, capture.where["lscpu"]), "memory_gib": memory[node]}
        for node, cpus in sorted(by_node.items())
    ]


def _words(nodes: Mapping[int, object]) -> str:
    return ", ".join(map(str, sorted(nodes)))


def _threads(cpus: Sequence[Cpu], where: str) -> list[str]:
    """One CPU list per SMT thread. Cores go by their first CPU, those with more threads first.

    The lists are sorted by the kernel, so the n-th CPUs must be siblings: that holds where a
    core's place is the same in each list, as on every machine seen so far; else it is refused.
    """
    cores: dict[tuple[int, int], list[int]] = {}
    for cpu in cpus:
        cores.setdefault((cpu.socket, cpu.core), []).append(cpu.number)
    ordered = sorted(map(sorted, cores.values()), key=lambda core: core[0])
    width = max(map(len, ordered))
    lists = [[core[thread] for core in ordered if thread < len(core)] for thread in range(width)]
    siblings = [
        {cpus[place] for cpus in map(sorted, lists) if place < len(cpus)}
        for place in range(len(lists[0]))
    ]
    if siblings != [set(core) for core in ordered]:
        raise CaptureError(where, "cores with and without SMT alternate, which no CPU list can say")
    return [format_list(cpus) for cpus in lists]


def _disks(
    capture: Capture, system_disk: str, unverified: dict[str, str]
) -> tuple[int, list[dict[str, Any]]]:
    drives = {drive.name: drive for drive in capture.drives or ()}
    if capture.drives is None and any(device.is_nvme for device in capture.devices):
        unverified["nvme"] = "lspci shows no sizes: add the drives beside the system disk"
    if system_disk.isdecimal() and int(system_disk) > 0:
        unverified["system_disk_gib"] = "as given to the import"
        size = int(system_disk)
    elif system_disk in drives:
        size = drives.pop(system_disk).size_gib
    else:
        offer = ", ".join(drives) or "the capture has none"
        raise CaptureError(
            "--system-disk",
            f'"{system_disk}" is no size in GiB and no NVMe drive of the capture ({offer})',
        )
    return size, [
        {"model": drive.model, "size_gib": drive.size_gib, "numa_node": drive.numa_node}
        for drive in drives.values()
    ]


def _system_drives(
    capture: Capture, system_disk: str, kind: MachineKind, unverified: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """The drives that are alike the one of the system, for bare metal alone."""
    if kind != "bare-metal":
        return {}
    every = capture.drives or ()
    system = next((drive for drive in every if drive.name == system_disk), None)
    if system is None:
        unverified["system_drives"] = "the capture does not show the drive: fill in bus and count"
        return {"system_drives": {"count": 1, "bus": None, "model": None}}
    alike = [
        each for each in every if (each.model, each.size_gib) == (system.model, system.size_gib)
    ]
    return {"system_drives": {"count": len(alike), "bus": "nvme", "model": system.model}}
