"""Tables and JSON of the hardware catalogue: all machines in short, one in full."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from engine.console import behind
from engine.tables import Widest, table
from hardware.catalogue import Gpu, Hardware, SystemDrives

UNKNOWN = "—"
TEXTS = ("Machine", "Kind", "GPUs")
NARROW = (*TEXTS, "CPUs", "GiB", "USD/h")
WIDE = (*TEXTS, "CPUs", "NUMA nodes", "GiB", "USD/h", "Unverified")


def overview(machines: Sequence[Hardware]) -> Widest:
    """One line for each machine, with fewer columns on a narrow screen."""
    return Widest([_overview(machines, WIDE), _overview(machines, NARROW)])


def _overview(machines: Sequence[Hardware], columns: Sequence[str]) -> Table:
    numbers = [name for name in columns if name not in TEXTS]
    made = table(*columns, right=numbers, whole=("Machine", "Kind"))
    made.columns[
        2
    ].max_width = 30  # "RTX PRO 6000 Blackwell Max-Q Workstation Edition" on two lines
    for machine in machines:
        cells = _cells(machine)
        made.add_row(*(cells[name] for name in columns))
    return made


def _cells(machine: Hardware) -> dict[str, str]:
    return {
        "Machine": machine.name,
        "Kind": machine.kind,
        "GPUs": _gpus(machine).replace("NVIDIA ", ""),
        "CPUs": str(machine.cpu_count),
        "NUMA nodes": str(len(machine.numa_nodes)),
        "GiB": str(machine.memory_gib),
        "USD/h": _price(machine.usd_per_hour),
        "Unverified": str(len(machine.doubts)),
    }


def details(machine: Hardware) -> Group:
    """One machine: what it is, its NUMA nodes with their devices, and what is not verified."""
    facts = [behind(f"{name:13}", "", Text(value)) for name, value in _facts(machine)]
    nodes = table(
        *("NUMA node", "CPUs", "GiB", "GPUs", "Network", "NVMe"),
        whole=("CPUs", "GiB", "GPUs"),
    )
    for node in machine.numa_nodes:
        nodes.add_row(
            str(node.id),
            node.cpus,
            str(node.memory_gib),
            ", ".join(str(gpu.index) for gpu in machine.gpus if gpu.numa_node == node.id),
            ", ".join(nic.name for nic in machine.nics if nic.numa_node == node.id),
            _drives([drive.size_gib for drive in machine.nvme if drive.numa_node == node.id]),
        )
    return Group(
        Text(machine.name, style="bold"),
        *facts,
        _lines("price source", [machine.price.source]),
        Text(),
        nodes,
        Text(),
        _lines("sources", machine.sources),
        _doubts(machine),
    )


def as_json(machine: Hardware) -> dict[str, Any]:
    """Every fact of the entry, and the sums derived from them."""
    found = asdict(machine)
    for node, derived in zip(found["numa_nodes"], machine.numa_nodes, strict=True):
        node["cpus"] = derived.cpus
    return {
        **found,
        "verified": machine.verified,
        "cpu_count": machine.cpu_count,
        "memory_gib": machine.memory_gib,
        "gpu_count": machine.gpu_count,
        "nvme_gib": machine.nvme_gib,
        "usd_per_hour": machine.usd_per_hour,
    }


def _facts(machine: Hardware) -> Iterable[tuple[str, str]]:
    price = machine.price
    sockets = "1 socket" if machine.sockets == 1 else f"{machine.sockets} sockets"
    threads = machine.threads_per_core
    yield "vendor", f"{machine.vendor}, {machine.kind}{', virtual' if machine.virtual else ''}"
    yield "CPU", f"{machine.cpu_model} ({machine.arch}, {sockets}, {threads} threads per core)"
    yield "GPUs", _gpus(machine) + (" behind NVSwitch" if machine.nvswitch else "")
    if machine.gpus:
        yield "GPU links", _links(machine.gpus[0])
    if machine.nccl_all_reduce_busbw_gb_per_s is not None:
        yield "all_reduce", f"{machine.nccl_all_reduce_busbw_gb_per_s:g} GB/s bus bandwidth"
    if machine.efa_interfaces:
        yield "EFA", f"{machine.efa_interfaces} interfaces"
    yield "disks", f"{machine.system_disk_gib} GiB system, {machine.nvme_gib} GiB local NVMe"
    if machine.system_drives is not None:
        yield "system drives", _system_drives(machine.system_drives)
    if machine.pcie_aspm is not None:
        yield "PCIe ASPM", machine.pcie_aspm
    amounts = {
        "on demand": price.on_demand_per_hour,
        "reserved": price.reserved_per_hour,
        "spot": price.spot_per_hour,
        "amortised": price.amortised_per_hour,
    }
    kinds = ", ".join(f"{kind} {_price(amount)}" for kind, amount in amounts.items())
    yield "price", f"{price.currency}/h: {kinds} ({price.date})"


def _doubts(machine: Hardware) -> Text:
    if not machine.doubts:
        return _lines("not verified", ["nothing: each fact has a source that was read"])
    return _lines("not verified", machine.doubts)


def _lines(title: str, lines: Sequence[str]) -> Text:
    """A line each, in one piece, so that an address can be clicked and copied."""
    titles = [title, *[""] * (len(lines) - 1)]
    text = "\n".join(f"{name:14}{line}" for name, line in zip(titles, lines, strict=True))
    return Text(text, no_wrap=True, overflow="ignore")


def _gpus(machine: Hardware) -> str:
    counted = Counter((gpu.model, gpu.memory_gib) for gpu in machine.gpus)
    return ", ".join(f"{n}x {model} {gib} GiB" for (model, gib), n in counted.items()) or UNKNOWN


def _links(gpu: Gpu) -> str:
    """The known facts: bus, NVLinks, BAR1."""
    known = {
        f"PCIe {gpu.pcie_gen} x{gpu.pcie_width}": gpu.pcie_gen and gpu.pcie_width,
        f"{gpu.nvlinks} NVLinks": gpu.nvlinks,
        f"BAR1 {gpu.bar1_gib} GiB": gpu.bar1_gib,
    }
    return ", ".join(text for text, fact in known.items() if fact) or UNKNOWN


def _system_drives(drives: SystemDrives) -> str:
    alike = ", alike: name the serial number of one" if drives.count > 1 else ""
    return (
        f"{drives.count}x {drives.model or 'model unknown'}, {drives.bus or 'bus unknown'}{alike}"
    )


def _drives(sizes: Sequence[int]) -> str:
    return ", ".join(f"{n}x {size} GiB" for size, n in Counter(sizes).items())


def _price(amount: float | None) -> str:
    return UNKNOWN if amount is None else f"{amount:.2f}"
