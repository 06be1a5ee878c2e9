"""The kubelet configuration that the node starts with, held to kubelet's own start-up checks."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from hardware.hardware import Hardware
from ignition.boot import cpus
from ignition.boot.config import BootConfig
from ignition.boot.fields import CHOICES, DEFAULT_EVICTION, FIELDS, OPTIONS
from ignition.boot.patches import patched
from ignition.boot.quantities import QuantityError, threshold, to_bytes

_GIB = 1024**3

Json = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Kubelet:
    """What the configuration reserves, in bytes; `eviction` is by signal."""

    configuration: Json
    reserved_cpus: frozenset[int]
    reserved_memory: int
    eviction: Mapping[str, int]
    taints: tuple[Mapping[str, str], ...]


def check(
    config: BootConfig, patches: str | None, hardware: Hardware, problems: list[str]
) -> Kubelet:
    """Read the patched configuration; what kubelet would refuse is added to `problems`."""
    found = patched(config, patches, problems)
    problems += _fields(found)
    problems += _options(found)
    reserved = _reserved_cpus(found, hardware, problems)
    kept, eviction = _memory(found, hardware, problems)
    problems += _memory_manager(found, hardware, kept + eviction["memory.available"])
    problems += _topology(found)
    taints = tuple(cast("list[Mapping[str, str]]", found.get("registerWithTaints") or []))
    problems += _taints(taints)
    return Kubelet(
        configuration=found,
        reserved_cpus=reserved,
        reserved_memory=kept,
        eviction=eviction,
        taints=taints,
    )


def _fields(found: Json) -> Iterator[str]:
    for name in found.keys() - FIELDS:
        near = difflib.get_close_matches(name, FIELDS, n=1)
        hint = f"; the nearest is {near[0]}" if near else ""
        yield f"kubelet: {name} is no field of KubeletConfiguration{hint}"
    for name, choices in CHOICES.items():
        if name in found and found[name] not in choices:
            yield f'kubelet: {name} "{found[name]}" is unknown; allowed are {", ".join(choices)}'


def _options(found: Json) -> Iterator[str]:
    for name, known in OPTIONS.items():
        for option, value in cast("Json", found.get(name) or {}).items():
            if option not in known:
                yield f"kubelet: {name} has the unknown option {option}; known: {', '.join(known)}"
            elif not isinstance(value, str):
                yield f'kubelet: {name} {option} must be a string; write "{json.dumps(value)}"'
            elif known[option] == "a boolean" and value not in ("true", "false"):
                yield f'kubelet: {name} {option} "{value}" must be "true" or "false"'


def _reserved_cpus(found: Json, hardware: Hardware, problems: list[str]) -> frozenset[int]:
    text = str(found.get("reservedSystemCPUs") or "")
    static = found.get("cpuManagerPolicy") == "static"
    if not text:
        if static:
            problems.append(
                "kubelet: cpuManagerPolicy static needs CPUs of its own; set reservedSystemCPUs"
            )
        return frozenset()
    try:
        reserved = cpus.read(text)
    except cpus.ListError as error:
        problems.append(f"kubelet: reservedSystemCPUs: {error}")
        return frozenset()
    missing = reserved - cpus.every(hardware)
    if missing:
        problems.append(
            f"kubelet: reservedSystemCPUs names CPUs {cpus.write(missing)} that {hardware.name} "
            f"lacks; it has {cpus.write(cpus.every(hardware))}"
        )
    alone = cpus.split_cores(reserved, hardware)
    if alone:
        problems.append(
            f"kubelet: reservedSystemCPUs leaves out the SMT siblings {cpus.write(alone)}; reserve "
            "whole cores"
        )
    if found.get("systemReservedCgroup") or found.get("kubeReservedCgroup"):
        problems.append("kubelet: reservedSystemCPUs cannot stand beside a reserved cgroup")
    return reserved & cpus.every(hardware)


def _memory(found: Json, hardware: Hardware, problems: list[str]) -> tuple[int, Mapping[str, int]]:
    capacities = {
        "memory.available": hardware.memory_gib * _GIB,
        "nodefs.available": hardware.system_disk_gib * _GIB,
    }
    given = found.get("evictionHard")
    signals = cast("Json", DEFAULT_EVICTION if given is None else given)
    kept, eviction = 0, dict.fromkeys(capacities, 0)
    for name in ("kubeReserved", "systemReserved"):
        try:
            kept += to_bytes(cast("Json", found.get(name) or {}).get("memory", 0))
        except QuantityError as error:
            problems.append(f"kubelet: {name}.memory: {error}")
    for signal, capacity in capacities.items():
        try:
            eviction[signal] = threshold(signals.get(signal, 0), capacity)
        except QuantityError as error:
            problems.append(f"kubelet: evictionHard {signal}: {error}")
    problems += [
        f"kubelet: evictionHard without {signal} switches that threshold off; write it out"
        for signal in DEFAULT_EVICTION.keys() - signals.keys()
    ]
    return kept, eviction


def _memory_manager(found: Json, hardware: Hardware, kept: int) -> Iterator[str]:
    if found.get("memoryManagerPolicy") != "Static":
        return
    entries = cast("list[Json]", found.get("reservedMemory") or [])
    if str(cast("Json", found.get("evictionHard") or {}).get("memory.available", "")).endswith("%"):
        yield "kubelet: evictionHard memory.available is a percentage; write a quantity such as 1Gi"
        return
    total, seen = 0, set()
    for entry in entries:
        node, limits = json.dumps(entry.get("numaNode")), entry.get("limits")
        if node in seen:
            yield f"kubelet: reservedMemory names NUMA node {node} twice; give it once"
        seen.add(node)
        if node not in map(str, range(len(hardware.numa_nodes))):
            yield (
                f"kubelet: reservedMemory names NUMA node {node}, but {hardware.name} has 0 to "
                f"{len(hardware.numa_nodes) - 1}"
            )
        try:
            amount = to_bytes(limits.get("memory", 0) if isinstance(limits, dict) else limits)
        except QuantityError as error:
            yield f"kubelet: reservedMemory of NUMA node {node}: {error}"
            return
        if amount == 0:
            yield f"kubelet: reservedMemory of NUMA node {node} is zero; leave the entry out"
        total += amount
    if total != kept:
        yield (
            f"kubelet: reservedMemory sums to {total // 1024**2}Mi, but kubeReserved, "
            f"systemReserved and evictionHard keep {kept // 1024**2}Mi; make them equal"
        )


def _topology(found: Json) -> Iterator[str]:
    options = cast("Json", found.get("cpuManagerPolicyOptions") or {})
    if found.get("cpuManagerPolicy") != "static" and options:
        yield "kubelet: cpuManagerPolicyOptions need cpuManagerPolicy static"
    if (
        found.get("topologyManagerPolicy") == "single-numa-node"
        and options.get("distribute-cpus-across-numa") == "true"
    ):
        yield (
            "kubelet: distribute-cpus-across-numa has no use under single-numa-node; remove it or "
            "choose best-effort"
        )


def _taints(taints: tuple[Mapping[str, str], ...]) -> Iterator[str]:
    for taint in taints:
        if taint.get("effect") not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            yield (
                f'kubelet: the taint {taint.get("key")} has the effect "{taint.get("effect")}"; '
                "allowed are NoSchedule, PreferNoSchedule and NoExecute"
            )
