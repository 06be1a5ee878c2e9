"""Judges /etc/fleet/plan.json, with which the check on the node compares the live machine.

Held to the catalogue and to what the rest of the configuration makes of the machine: where the two
differ, either the machine is not what was planned or the check on it raises a false alarm.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.boot import cpus
from ignition.boot.config import BootConfig
from ignition.boot.extensions import brought_driver, drivers
from ignition.boot.joining import Joining
from ignition.boot.kernel import Kernel
from ignition.boot.kubelet import Kubelet
from ignition.boot.parsing import Json, names

PATH = "/etc/fleet/plan.json"
_KEYS = names("""
    hardware purpose digest cpus kernel_arguments absent_kernel_arguments sysctls numa_nodes
    transparent_hugepages irqs gpus unverified nvswitch driver governor kubelet absent_units
    pcie_aspm
""")
_GPU_FACTS = names("index model memory_gib numa_node pcie_gen pcie_width nvlinks bar1_gib")
_PAGES = {"hugepages_1gi": "hugepages-1Gi", "hugepages_2mi": "hugepages-2Mi"}


@dataclass(frozen=True, kw_only=True)
class ConfiguredMachine:
    """The machine as the rest of the configuration sets it up."""

    config: BootConfig
    command_line: Kernel
    joined: Joining
    kubelet: Kubelet
    sysctls: Mapping[str, str]
    irq_cpus: Mapping[int, frozenset[int]]


def check(found: ConfiguredMachine, hardware: Hardware, problems: list[str]) -> None:
    """Add to `problems` where plan.json differs from the machine."""
    text = found.config.text(PATH)
    if text is None:
        problems.append(
            f"{PATH} is not written, so the check on the node has nothing to compare with; write it"
        )
        return
    try:
        plan = json.loads(text)
    except ValueError:
        plan = None
    if not isinstance(plan, dict) or plan.keys() != _KEYS:
        given = plan.keys() if isinstance(plan, dict) else set()
        odd = sorted(given ^ _KEYS)
        problems.append(
            f"{PATH} has not the keys that the check reads ({', '.join(odd)}); fix them"
        )
        return
    try:
        for key, right in _right(plan, found, hardware):
            if plan[key] != right:
                problems.append(
                    f"{PATH}: {_where(key, plan[key], right)}; make plan and configuration agree"
                )
        problems += _cpus(plan, found, hardware)
        problems += _irqs(plan["irqs"], found, hardware)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError):
        problems.append(f"{PATH} has a value of a wrong type; write what the plan says")


def _where(key: str, given: object, right: object) -> str:
    """Describe the first place where two values differ."""
    if isinstance(given, dict) and isinstance(right, dict):
        for name in {**given, **right}:
            if given.get(name) != right.get(name):
                return _where(f"{key}.{name}", given.get(name), right.get(name))
    if isinstance(given, list) and isinstance(right, list) and len(given) == len(right):
        for number, (one, other) in enumerate(zip(given, right, strict=True)):
            if one != other:
                return _where(f"{key}[{number}]", one, other)
    return f"{key} is {json.dumps(given)[:60]}, but the machine has {json.dumps(right)[:60]}"


def _right(
    plan: Json, found: ConfiguredMachine, hardware: Hardware
) -> Iterator[tuple[str, object]]:
    """Yield each key with its right value, from the catalogue and the rest of the configuration."""
    labels, words = (
        found.joined.labels,
        dict(word.partition("=")[::2] for word in found.command_line.words),
    )
    yield "hardware", hardware.name
    yield "purpose", labels.get("fleet.gpu/purpose")
    yield "digest", labels.get("fleet.gpu/numa-plan")
    yield "nvswitch", hardware.nvswitch
    yield "transparent_hugepages", words.get("transparent_hugepage")
    given = plan["kernel_arguments"]
    line = f" {' '.join(found.command_line.words)} "
    yield "absent_kernel_arguments", list(found.config.removed_arguments)
    yield "pcie_aspm", hardware.pcie_aspm
    compared = [fact for fact in hardware.unverified if fact.startswith(("gpus", "pcie_aspm"))]
    yield "unverified", compared
    yield "kernel_arguments", [each for each in _list(given) if f" {each} " in line]
    expected = _object(plan["sysctls"])
    yield "sysctls", {name: found.sysctls.get(name) for name in expected}
    patch = dict(found.kubelet.configuration)
    patch.pop("registerWithTaints", None)
    yield "kubelet", patch
    yield "driver", _driver(found.config)
    if plan["governor"] is not None:
        yield "governor", words.get("cpufreq.default_governor")
    units = found.config.units
    yield "absent_units", [name for name in _list(plan["absent_units"]) if units[str(name)].masked]
    yield (
        "gpus",
        [{fact: getattr(gpu, fact) for fact in _GPU_FACTS} for gpu in hardware.gpus],
    )


def _driver(config: BootConfig) -> str | None:
    """The branch and kind of the driver; one that Flatcar has not is known by its version."""
    own, enabled = brought_driver(config), drivers(config)
    if own is not None:
        return f"{own.version}-open"
    return enabled[0].removeprefix("nvidia-drivers-") if enabled else None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _cpus(plan: Json, found: ConfiguredMachine, hardware: Hardware) -> Iterator[str]:
    sets = {name: cpus.read(str(text)) for name, text in _object(plan["cpus"]).items()}
    every, kept = cpus.every(hardware), found.kubelet.reserved_cpus
    for name, right in (("online", every), ("housekeeping", kept), ("workload", every - kept)):
        if sets[name] != right:
            yield (
                f"{PATH}: cpus.{name} is {cpus.write(sets[name])}, but the machine has "
                f"{cpus.write(right)}; correct it"
            )
    nodes = _list(plan["numa_nodes"])
    if len(nodes) != len(hardware.numa_nodes):
        yield f"{PATH}: numa_nodes has {len(nodes)} of {len(hardware.numa_nodes)}; name each once"
    for number, (node, wired) in enumerate(zip(nodes, hardware.numa_nodes, strict=False)):
        values = _object(node)
        right_cpus = frozenset().union(*cpus.cores(wired))
        pages = {
            key: found.command_line.hugepages.get(name, (0,) * len(hardware.numa_nodes))[number]
            for key, name in _PAGES.items()
        }
        if (values["id"], values["memory_gib"]) != (wired.id, wired.memory_gib) or cpus.read(
            str(values["cpus"])
        ) != right_cpus:
            yield f"{PATH}: numa_nodes[{number}] is not NUMA node {wired.id}; take the catalogue's"
        for key, reserved in pages.items():
            if values[key] != reserved:
                yield (
                    f"{PATH}: numa_nodes[{number}].{key} is {values[key]}, but the kernel reserves "
                    f"{reserved}; make both equal"
                )


def _irqs(given: object, found: ConfiguredMachine, hardware: Hardware) -> Iterator[str]:
    nics = {nic.name: nic.numa_node for nic in hardware.nics}
    gpus = {f"gpu{gpu.index}": gpu.numa_node for gpu in hardware.gpus}
    drives = {
        f"nvme{number}": drive.numa_node
        for number, drive in enumerate(hardware.nvme)
        if drive.numa_node is not None
    }
    named = [str(_object(irq)["name"]) for irq in _list(given)]
    if found.irq_cpus and (odd := sorted({*nics, *gpus, *drives} - set(named))):
        yield f"{PATH}: irqs leaves out {', '.join(odd)}; name each GPU, NIC and drive"
    if len(named) != len(set(named)):
        yield f"{PATH}: irqs names a device twice; keep one"
    for number, irq in enumerate(_list(given)):
        values = _object(irq)
        node, where = values["numa_node"], f"{PATH}: irqs[{number}] ({values['name']})"
        if values["device"] not in ("gpu", "nic", "nvme") or values.keys() != names(
            "device name numa_node cpus"
        ):
            yield f"{where} is malformed; write device, name, numa_node and cpus"
        right = {"gpu": gpus, "nic": nics, "nvme": drives}.get(str(values["device"]), {}).get(
            str(values["name"]), node
        )
        if node != right:
            yield f"{where} is on NUMA node {node}, but hangs on {right}; correct it"
        served = cpus.read(str(values["cpus"]))
        placed = found.irq_cpus.get(int(str(-1 if node is None else node)))
        if placed is not None and served != placed:
            yield (
                f"{where} expects CPUs {cpus.write(served)}, but the unit writes "
                f"{cpus.write(placed)}; give both the same list"
            )
