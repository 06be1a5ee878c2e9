"""Judges the memory that kubelet reserves, and its split by the Static memory manager."""

import json
from collections.abc import Iterator, Mapping
from typing import cast

from hardware.catalogue import Hardware
from ignition.boot.kubelet_fields import DEFAULT_EVICTION, KINDS_OF_MEMORY, RESERVABLE, SIGNALS
from ignition.boot.parsing import Json
from ignition.boot.quantities import QuantityError, threshold, to_bytes

_GIB = 1024**3
_MIB = 1024**2
# below this share of the memory the daemons of a node are killed before a pod is evicted
_LEAST_KEPT = 256 * _MIB


def reserved(found: Json, hardware: Hardware, problems: list[str]) -> tuple[int, Mapping[str, int]]:
    """Return the bytes of kubeReserved and systemReserved together, and each eviction threshold."""
    capacities = {
        "memory.available": hardware.memory_gib * _GIB,
        "nodefs.available": hardware.system_disk_gib * _GIB,
    }
    given = found.get("evictionHard")
    signals = cast("Json", DEFAULT_EVICTION if given is None else given)
    kept, eviction = 0, dict.fromkeys(capacities, 0)
    for name in ("kubeReserved", "systemReserved"):
        values = cast("Json", found.get(name) or {})
        problems += [
            f"kubelet: {name} cannot keep {kind}; allowed are {', '.join(RESERVABLE)}"
            for kind in values.keys() - set(RESERVABLE)
        ]
        try:
            kept += to_bytes(values.get("memory", 0))
        except QuantityError as error:
            problems.append(f"kubelet: {name}.memory: {error}")
    for signal in DEFAULT_EVICTION:
        try:
            value = threshold(signals.get(signal, 0), capacities.get(signal, _GIB))
            if signal in eviction:
                eviction[signal] = value
        except QuantityError as error:
            problems.append(f"kubelet: evictionHard {signal}: {error}")
    problems += _signals(signals)
    if given is not None and kept + eviction["memory.available"] < _LEAST_KEPT:
        problems.append(
            f"kubelet: kubeReserved, systemReserved and evictionHard keep {kept // _MIB}Mi of "
            "memory, too little for the system; keep 256Mi or more"
        )
    return kept, eviction


def _signals(signals: Json) -> Iterator[str]:
    for signal in DEFAULT_EVICTION.keys() - signals.keys():
        yield f"kubelet: evictionHard without {signal} switches that threshold off; write it out"
    for signal in signals.keys() - SIGNALS:
        yield f"kubelet: evictionHard has the unknown signal {signal}; remove it"
    for signal, value in signals.items():
        share = str(value).removesuffix("%")
        if str(value).endswith("%") and share.replace(".", "").isdigit() and float(share) >= 50:
            yield f"kubelet: evictionHard {signal} {value} evicts at half of the disk; lower it"


def manager(found: Json, hardware: Hardware, kept: int, problems: list[str]) -> None:
    """Hold reservedMemory to the checks that the Static memory manager starts with."""
    policy = found.get("memoryManagerPolicy")
    if policy != "Static":
        if found.get("reservedMemory"):
            problems.append(
                "kubelet: reservedMemory needs memoryManagerPolicy Static; set it or remove it"
            )
        return
    given = str(cast("Json", found.get("evictionHard") or {}).get("memory.available", ""))
    if given.endswith("%"):
        problems.append(
            "kubelet: evictionHard memory.available is a percentage; write a quantity such as 1Gi"
        )
        return
    total, seen = 0, set[str]()
    for entry in cast("list[Json]", found.get("reservedMemory") or []):
        node, limits = json.dumps(entry.get("numaNode")), entry.get("limits")
        if node in seen:
            problems.append(f"kubelet: reservedMemory names NUMA node {node} twice; give it once")
        seen.add(node)
        if not isinstance(limits, dict) or entry.keys() - {"numaNode", "limits"}:
            problems.append(
                f"kubelet: reservedMemory of NUMA node {node} must have numaNode and limits alone"
            )
            continue
        problems += _node(node, limits, hardware)
        try:
            total += to_bytes(limits.get("memory", 0))
        except QuantityError as error:
            problems.append(f"kubelet: reservedMemory of NUMA node {node}: {error}")
            return
    if total != kept:
        problems.append(
            f"kubelet: reservedMemory sums to {total // _MIB}Mi, but kubeReserved, systemReserved "
            f"and evictionHard keep {kept // _MIB}Mi; make them equal"
        )


def _node(node: str, limits: Json, hardware: Hardware) -> Iterator[str]:
    if node not in map(str, range(len(hardware.numa_nodes))):
        yield (
            f"kubelet: reservedMemory names NUMA node {node}, but {hardware.name} has 0 to "
            f"{len(hardware.numa_nodes) - 1}; correct it"
        )
        return
    for kind, value in limits.items():
        if kind not in KINDS_OF_MEMORY:
            yield (
                f"kubelet: reservedMemory of NUMA node {node} keeps {kind}; allowed are "
                f"{', '.join(KINDS_OF_MEMORY)}"
            )
        elif kind != "memory":
            yield (
                f"kubelet: reservedMemory of NUMA node {node} keeps {kind}, which neither "
                "kubeReserved nor systemReserved does; remove it"
            )
        try:
            amount = to_bytes(value)
        except QuantityError:
            continue
        if amount == 0:
            yield f"kubelet: reservedMemory of NUMA node {node} is zero; leave the entry out"
        if amount >= hardware.numa_nodes[int(node)].memory_gib * _GIB:
            yield f"kubelet: reservedMemory of NUMA node {node} takes all of its memory; lower it"
