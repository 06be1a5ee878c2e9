"""The catalogue of machines: how each is wired and what an hour of it costs.

`load("dgx-h200")` reads hardware/dgx-h200.yaml, checked against hardware/schema.json: a YAML file
that is put beside it is a machine of the catalogue. Nothing here is measured when it is read: facts
that nobody has verified stand in `Hardware.unverified`.
"""

import difflib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from hardware.cpuset import CpusetError, parse_list
from hardware.machine import (
    USD_PER_EUR,
    Arch,
    Gpu,
    Hardware,
    HardwareError,
    MachineKind,
    Nic,
    NumaNode,
    Nvme,
    Price,
    SystemDrives,
)

__all__ = [
    "CATALOGUE",
    "USD_PER_EUR",
    "Arch",
    "Gpu",
    "Hardware",
    "HardwareError",
    "MachineKind",
    "Nic",
    "NumaNode",
    "Nvme",
    "Price",
    "SystemDrives",
    "load",
    "names",
    "parse",
    "read",
]

CATALOGUE = Path(__file__).resolve().parent
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's where PyYAML was built with it


def names() -> tuple[str, ...]:
    """Every machine of the catalogue, in alphabetical order."""
    return tuple(sorted(path.stem for path in CATALOGUE.glob("*.yaml")))


@cache
def load(name: str) -> Hardware:
    """The machine called `name`; HardwareError with the nearest names where there is none."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else f"known: {', '.join(known)}"
        raise HardwareError(f'hardware "{name}" is not in the catalogue ({hint})')
    path = CATALOGUE / f"{name}.yaml"
    return read(name, path.read_text(encoding="utf-8"), where=path.name)


def read(name: str, text: str, *, where: str) -> Hardware:
    """The text of a catalogue file as Hardware; HardwareError with line or property."""
    try:
        entry = yaml.load(text, Loader=_LOADER)  # noqa: S506  # a safe one
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise HardwareError(f"{where}: line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise HardwareError(f"{where}: {' '.join(str(error).split())}") from None
    return parse(name, entry, where=where)


def parse(name: str, entry: object, *, where: str) -> Hardware:
    """A catalogue entry as Hardware; HardwareError names the file and the wrong property."""
    error = jsonschema.exceptions.best_match(_schema().iter_errors(entry))
    if error is not None:
        raise HardwareError(f"{where}: {error.json_path}: {error.message}")
    assert isinstance(entry, dict)  # noqa: S101  # the schema says so
    hardware = _build(name, entry)
    for problem in _contradictions(hardware):
        raise HardwareError(f"{where}: {problem}")
    return hardware


@cache
def _schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        json.loads((CATALOGUE / "schema.json").read_text(encoding="utf-8"))
    )


def _build(name: str, entry: dict[str, Any]) -> Hardware:
    fields: dict[str, Any] = {
        **entry,
        "numa_nodes": tuple(
            NumaNode(id=node["id"], threads=tuple(node["threads"]), memory_gib=node["memory_gib"])
            for node in entry["numa_nodes"]
        ),
        "gpus": tuple(Gpu(**gpu) for gpu in entry["gpus"]),
        "nics": tuple(Nic(**nic) for nic in entry["nics"]),
        "nvme": tuple(Nvme(**drive) for drive in entry["nvme"]),
        "system_drives": SystemDrives(**drives) if (drives := entry.get("system_drives")) else None,
        "price": Price(**entry["price"]),
        "sources": tuple(entry["sources"]),
        "unverified": tuple(entry["unverified"]),
    }
    return Hardware(name=name, **fields)


def _contradictions(hardware: Hardware) -> Iterator[str]:
    """Yield each contradiction within an entry that the schema cannot see."""
    yield from _numa_nodes(hardware)
    yield from _devices(hardware)
    yield from _system_drives(hardware)
    yield from _gpus(hardware)


def _numa_nodes(hardware: Hardware) -> Iterator[str]:
    seen: set[int] = set()
    for position, node in enumerate(hardware.numa_nodes):
        path = f"$.numa_nodes[{position}]"
        if node.id != position:
            yield f"{path}.id: {node.id}, but NUMA nodes are numbered from 0 in order"
        try:
            sizes, cpus = _threads(node)
        except CpusetError as error:
            yield f"{path}.threads: {error}"
            return
        if sizes != sorted(sizes, reverse=True):
            yield f"{path}.threads: the lists have {sizes} CPUs; the first must be the longest"
        if len(set(cpus)) != len(cpus) or seen & set(cpus):
            yield f"{path}.threads: a CPU stands in two lists; every CPU is one thread of one core"
        seen |= set(cpus)


def _threads(node: NumaNode) -> tuple[list[int], list[int]]:
    lists = [parse_list(thread) for thread in node.threads]
    return [len(cpus) for cpus in lists], [cpu for cpus in lists for cpu in cpus]


def _devices(hardware: Hardware) -> Iterator[str]:
    devices: dict[str, int | None] = {
        **{f"$.gpus[{n}]": gpu.numa_node for n, gpu in enumerate(hardware.gpus)},
        **{f"$.nics[{n}]": nic.numa_node for n, nic in enumerate(hardware.nics)},
        **{f"$.nvme[{n}]": drive.numa_node for n, drive in enumerate(hardware.nvme)},
    }
    for path, numa_node in devices.items():
        if numa_node is not None and numa_node >= len(hardware.numa_nodes):
            yield (
                f"{path}.numa_node: {numa_node}, but the machine has NUMA nodes 0 to "
                f"{len(hardware.numa_nodes) - 1}"
            )


def _system_drives(hardware: Hardware) -> Iterator[str]:
    if (hardware.kind == "bare-metal") is (hardware.system_drives is None):
        allowed = "needed" if hardware.kind == "bare-metal" else "allowed for bare-metal alone"
        yield f"$.system_drives: {allowed}: the drives that Flatcar can be installed on"


def _gpus(hardware: Hardware) -> Iterator[str]:
    for position, gpu in enumerate(hardware.gpus):
        if gpu.index != position:
            yield (
                f"$.gpus[{position}].index: {gpu.index}, but GPUs are numbered from 0 in order, "
                "as nvidia-smi does"
            )
    if hardware.nvswitch and not hardware.gpus:
        yield "$.nvswitch: true, but the machine has no GPUs for an NVSwitch to join"
    names = [nic.name for nic in hardware.nics]
    for position, name in enumerate(names):
        if name in names[:position]:
            yield f'$.nics[{position}].name: "{name}" is the name of another network card'
