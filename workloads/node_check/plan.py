"""Reads /etc/fleet/plan.json, the plan of the machine; null means not checked."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from hardware.cpuset import CpusetError, parse_list

PATH = "etc/fleet/plan.json"


class PlanFileError(ValueError):
    """A plan that cannot be read; the message names the field."""


@dataclass(frozen=True, kw_only=True)
class Cpus:
    """CPU lists of the whole machine."""

    online: str
    housekeeping: str
    workload: str


@dataclass(frozen=True, kw_only=True)
class PlannedNumaNode:
    """A NUMA node with its boot-time pages."""

    id: int
    cpus: str
    memory_gib: int | float
    hugepages_1gi: int
    hugepages_2mi: int


@dataclass(frozen=True, kw_only=True)
class PlannedInterrupts:
    """The CPUs for the interrupts of a device; `device` is gpu, nic or nvme."""

    device: str
    name: str
    numa_node: int | None
    cpus: str


@dataclass(frozen=True, kw_only=True)
class PlannedGpu:
    """A GPU by its index in the order of PCI addresses."""

    index: int
    model: str
    memory_gib: int | float
    numa_node: int | None
    pcie_gen: int | None
    pcie_width: int | None
    nvlinks: int | None
    bar1_gib: int | float | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a machine."""

    hardware: str
    purpose: str
    digest: str
    cpus: Cpus
    kernel_arguments: tuple[str, ...]
    sysctls: Mapping[str, str]
    numa_nodes: tuple[PlannedNumaNode, ...]
    transparent_hugepages: str | None
    irqs: tuple[PlannedInterrupts, ...]
    gpus: tuple[PlannedGpu, ...]
    nvswitch: bool
    driver: str | None
    governor: str | None
    kubelet: Mapping[str, Any]
    absent_units: tuple[str, ...]
    # later fields, which the plan of a machine that was booted before them lacks
    absent_kernel_arguments: tuple[str, ...] = ()
    pcie_aspm: str | None = None
    """What the catalogue says, off or default; None where the machine does not decide it."""
    unverified: tuple[str, ...] = ()
    """Facts of the catalogue that nobody has confirmed, such as gpus.pcie_gen."""


Part = TypeVar("Part", Cpus, PlannedNumaNode, PlannedInterrupts, PlannedGpu)


def parse(text: str) -> Plan:
    """Parses the JSON text; PlanFileError where it is not a plan."""
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise PlanFileError(f"/{PATH} is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise PlanFileError(f"/{PATH} holds {type(given).__name__}, expected an object")
    needed = {each.name for each in fields(Plan) if each.default is MISSING}
    missing = sorted(needed - given.keys())
    if missing:
        raise PlanFileError(f"/{PATH} lacks {', '.join(missing)}")
    found: dict[str, Any] = {
        "cpus": _part(Cpus, given["cpus"], "cpus"),
        "numa_nodes": _parts(PlannedNumaNode, given["numa_nodes"], "numa_nodes"),
        "irqs": _parts(PlannedInterrupts, given["irqs"], "irqs"),
        "gpus": _parts(PlannedGpu, given["gpus"], "gpus"),
        "kernel_arguments": _strings(given["kernel_arguments"], "kernel_arguments"),
        "absent_units": _strings(given["absent_units"], "absent_units"),
        "absent_kernel_arguments": _strings(
            given.get("absent_kernel_arguments", []), "absent_kernel_arguments"
        ),
        "pcie_aspm": given.get("pcie_aspm"),
        "unverified": _strings(given.get("unverified", []), "unverified"),
        "sysctls": {name: str(value) for name, value in _mapping(given, "sysctls").items()},
        "kubelet": _mapping(given, "kubelet"),
    }
    scalars = {each.name: given[each.name] for each in fields(Plan) if each.name not in found}
    plan = Plan(**found, **scalars)
    _refuse_unreadable_lists(plan)
    return plan


def _mapping(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given[name]
    if not isinstance(value, dict):
        raise PlanFileError(f"/{PATH}: {name} is {value!r}, expected an object")
    return value


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise PlanFileError(f"/{PATH}: {where} is {value!r}, expected a list of strings")
    return tuple(value)


def _parts(kind: type[Part], value: Any, where: str) -> tuple[Part, ...]:
    if not isinstance(value, list):
        raise PlanFileError(f"/{PATH}: {where} is {value!r}, expected a list")
    return tuple(_part(kind, each, f"{where}[{at}]") for at, each in enumerate(value))


def _part(kind: type[Part], value: Any, where: str) -> Part:
    if not isinstance(value, dict):
        raise PlanFileError(f"/{PATH}: {where} is {value!r}, expected an object")
    found = {}
    for each in fields(kind):
        given = value.get(each.name)
        if not isinstance(given, each.type):  # type: ignore[arg-type]  # types, no strings, here
            raise PlanFileError(f"/{PATH}: {where}.{each.name} is {given!r}, expected {each.type}")
        found[each.name] = given
    return kind(**found)


def _refuse_unreadable_lists(plan: Plan) -> None:
    cpus = plan.cpus
    lists = [cpus.online, cpus.housekeeping, cpus.workload]
    lists += [node.cpus for node in plan.numa_nodes] + [irq.cpus for irq in plan.irqs]
    for text in lists:
        try:
            parse_list(text)
        except CpusetError as error:
            raise PlanFileError(f"/{PATH}: {error}") from error
