"""Captured output of the published layouts, as the programs print it: lscpu, lspci, sysfs, topo."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hardware.cpuset import parse_list
from hardware.importer.catalogue_file import Heading
from hardware.importer.files import Files, import_machine

LAYOUTS = Path(__file__).with_name("hardware_layouts")
NAMES = tuple(sorted(path.stem for path in LAYOUTS.glob("*.yaml")))
HEADING = Heading(name="mine", vendor="own", kind="bare-metal", date="2026-11-21")
QUERY = "index, name, memory.total [MiB], pci.bus_id, pcie.link.gen.max, pcie.link.width.max"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A machine as it was published; `siblings` gives the CPUs of a CPU's core."""

    name: str
    facts: Mapping[str, Any]

    @property
    def nodes(self) -> list[frozenset[int]]:
        """The CPUs of each NUMA node as they were published."""
        return [parse_list(cpus) for cpus in self.facts["numa_cpus"]]

    def siblings(self, cpu: int) -> frozenset[int]:
        """By the distance of threads, by pairs in front, or none."""
        rule = self.facts["siblings"]
        if rule is None:
            return frozenset({cpu})
        if isinstance(rule, dict):
            first = cpu // 2 * 2
            return frozenset({first, first + 1} if cpu < 2 * rule["pairs"] else {cpu})
        return frozenset({cpu % rule, cpu % rule + rule})

    @property
    def memory_kib(self) -> list[int]:
        """Memory of each NUMA node."""
        memory = self.facts["memory_kib"]
        return memory if isinstance(memory, list) else [memory] * len(self.nodes)


def layout(name: str) -> Layout:
    """A published layout by its file's name."""
    return Layout(name=name, facts=yaml.safe_load((LAYOUTS / f"{name}.yaml").read_text()))


def lscpu(of: Layout) -> str:
    """`(lscpu -J; lscpu -J -e=CPU,CORE,SOCKET,NODE)`, flat and with strings where it was text."""
    facts, flat = of.facts, of.facts.get("flat", False)
    number = str if flat else int
    per_socket = max(1, len(of.nodes) // facts["sockets"])
    rows = [
        {
            "cpu": number(cpu),
            "core": number(min(of.siblings(cpu))),
            "socket": number(node // per_socket),
            "node": number(node),
        }
        for node, cpus in enumerate(of.nodes)
        for cpu in cpus
    ]
    rows.sort(key=lambda row: int(row["cpu"]))
    return json.dumps({"lscpu": _fields(of, flat=flat)}, indent=3) + json.dumps({"cpus": rows})


def _fields(of: Layout, *, flat: bool) -> list[dict[str, Any]]:
    facts = of.facts
    threads = max(len(of.siblings(cpu)) for cpus in of.nodes for cpu in cpus)
    model = {
        "Thread(s) per core:": str(threads),
        "Socket(s):": str(facts["sockets"]),
    }
    numa = {
        "NUMA node(s):": str(len(of.nodes)),
        **{f"NUMA node{n} CPU(s):": cpus for n, cpus in enumerate(facts["numa_cpus"])},
    }
    top: dict[str, Any] = {
        "Architecture:": facts.get("architecture", "x86_64"),
        "CPU(s):": str(sum(map(len, of.nodes))),
        "Vendor ID:": facts["vendor"],
    }
    if "hypervisor" in facts:
        top["Hypervisor vendor:"] = facts["hypervisor"]
    if flat:
        return _list({**top, "Model name:": facts["model"], **model, **numa})
    named = {"field": "Model name:", "data": facts["model"], "children": _list(model)}
    return [
        *_list(top),
        {"field": "BIOS:", "data": None, "children": [named]},
        {"field": "NUMA:", "data": None, "children": _list(numa)},
    ]


def _list(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"field": field, "data": data} for field, data in fields.items()]


def devices(of: Layout) -> Iterator[dict[str, Any]]:
    """The PCI functions that matter: id, class, slot and NUMA node."""
    for kind, bus, class_id, vendor in (
        ("gpus", 16, "0302", "10de"),
        ("cards", 96, "0207", "15b3"),
    ):
        group: dict[str, Any] = of.facts.get(kind, {"nodes": []})
        for number, node in enumerate(group["nodes"]):
            slot = group.get("slots", {}) or [f"0000:{bus + n:02x}:00.0" for n in range(80)]
            yield {
                "slot": slot[number],
                "class": class_id,
                "vendor": vendor,
                "device": group["id"],
                "name": group["name"],
                "node": node,
            }
    for slot in of.facts.get("efa", ()):
        name = "Elastic Fabric Adapter (EFA)"
        efa = {"class": "0200", "vendor": "1d0f", "device": "efa0", "name": name, "node": None}
        yield {"slot": slot, **efa}


def lspci(of: Layout) -> str:
    """`lspci -Dvmmnn`."""
    vendors = {"10de": "NVIDIA Corporation", "15b3": "Mellanox Technologies", "1d0f": "Amazon.com"}
    classes = {"0302": "3D controller", "0207": "Infiniband controller", "0200": "Ethernet"}
    bridge = (
        "Class:\tHost bridge [0600]\nVendor:\tIntel Corporation [8086]\nDevice:\tBridge [09a2]\n"
    )
    records = [f"Slot:\t0000:00:00.0\n{bridge}"]
    for device in devices(of):
        record = (
            f"Slot:\t{device['slot']}\n"
            f"Class:\t{classes[device['class']]} [{device['class']}]\n"
            f"Vendor:\t{vendors[device['vendor']]} [{device['vendor']}]\n"
            f"Device:\t{device['name']} [{device['device']}]\n"
            "Rev:\ta1\n"
        )
        records.append(
            record + ("" if device["node"] is None else f"NUMANode:\t{device['node']}\n")
        )
    return "\n".join(records)


def meminfo(of: Layout) -> str:
    """`cat /sys/devices/system/node/node*/meminfo`."""
    return "".join(
        f"Node {node} MemTotal:       {kib} kB\nNode {node} MemFree:        1 kB\n"
        for node, kib in enumerate(of.memory_kib)
    )


def query(of: Layout) -> str:
    """`nvidia-smi --query-gpu=... --format=csv`, with the slots of eight digits that it writes."""
    gpu = of.facts["query"]
    slots = [device["slot"] for device in devices(of) if device["vendor"] == "10de"]
    lines = [
        f"{number}, {gpu['model']}, {gpu['memory_mib']} MiB, 0000{slot.upper()}, "
        f"{gpu['pcie_gen']}, {gpu['pcie_width']}"
        for number, slot in enumerate(slots)
    ]
    return "\n".join([QUERY, *lines]) + "\n"


def sysfs(of: Layout, tree: Path) -> Path:
    """A copy of /sys with what is read of it, one NVMe drive on each NUMA node beside."""
    link = of.facts.get("link", {"speed": "Unknown", "width": "255"})
    for node, kib in enumerate(of.memory_kib):
        _put(tree / f"devices/system/node/node{node}/meminfo", f"Node {node} MemTotal: {kib} kB\n")
    pci = tree / "bus/pci/devices"
    names = iter(f"mlx5_{number}" for number in range(99))
    for device in devices(of):
        folder = pci / device["slot"]
        _put(folder / "class", f"0x{device['class']}00\n")
        _put(folder / "vendor", f"0x{device['vendor']}\n")
        _put(folder / "device", f"0x{device['device']}\n")
        _put(folder / "numa_node", f"{-1 if device['node'] is None else device['node']}\n")
        _put(folder / "max_link_speed", f"{link['speed']}\n")
        _put(folder / "max_link_width", f"{link['width']}\n")
        if device["vendor"] == "10de":
            _put(
                folder / "resource",
                "0x0000000091000000 0x0000000091ffffff 0x0000000000040200\n"
                "0x0000018000000000 0x000001bfffffffff 0x000000000014220c\n",
            )
        if device["vendor"] == "15b3":
            (folder / "infiniband" / next(names)).mkdir(parents=True, exist_ok=True)
            (folder / "net" / "ib0").mkdir(parents=True, exist_ok=True)
    for node in range(len(of.nodes)):
        folder = pci / f"0000:f{node}:00.0"
        for file, text in (("class", "0x010802"), ("vendor", "0x144d"), ("device", "0xa80a")):
            _put(folder / file, f"{text}\n")
        _put(folder / "numa_node", f"{node}\n")
        _put(folder / f"nvme/nvme{node}/model", "SAMSUNG MZQL23T8HCLS-00A07              \n")
        _put(folder / f"nvme/nvme{node}/nvme{node}c{node}n1/size", "7501476528\n")
    return tree


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files(of: Layout, folder: Path, *, tree: bool = False) -> Files:
    """The captures of a layout as files: with a copy of sysfs, or else with lspci."""
    gpus = bool(of.facts.get("gpus"))
    (folder / "lscpu.json").write_text(lscpu(of))
    (folder / "lspci.txt").write_text(lspci(of))
    (folder / "meminfo.txt").write_text(meminfo(of))
    if gpus:
        (folder / "topo.txt").write_text(of.facts["topo"])
    if "query" in of.facts:
        (folder / "gpus.csv").write_text(query(of))
    return Files(
        lscpu=folder / "lscpu.json",
        lspci=None if tree else folder / "lspci.txt",
        sysfs=sysfs(of, folder / "sys") if tree else None,
        meminfo=None if tree else folder / "meminfo.txt",
        topo=folder / "topo.txt" if gpus else None,
        gpus=folder / "gpus.csv" if "query" in of.facts else None,
    )


def imported(of: Layout, folder: Path, *, tree: bool = False) -> str:
    """The catalogue file of a layout."""
    disk = "nvme0n1" if tree else "894"
    return import_machine(files(of, folder, tree=tree), HEADING, system_disk=disk)
