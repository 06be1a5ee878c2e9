"""What kubelet keeps from pods, and when it evicts them: a part of its own validation."""

import re
from collections.abc import Iterator
from typing import Any, cast

from ignition.boot.kubelet_fields import ALL_SIGNALS
from ignition.boot.kubelet_schema import amount, duration
from ignition.boot.parsing import Json, shown

_ENFORCE = ("pods", "system-reserved", "kube-reserved", "system-reserved-compressible")
_ENFORCEABLE = (*_ENFORCE, "kube-reserved-compressible", "none")
_PERCENT = re.compile(r"\d+(\.\d+)?%", re.ASCII)


def problems(found: Json) -> Iterator[str]:
    """Yield what kubelet refuses of reservations, of their enforcement and of evictions."""
    yield from _enforced(found)
    yield from _evictions(found)
    yield from _reserved(found)


def _enforced(found: Json) -> Iterator[str]:
    given = cast("list[str]", found.get("enforceNodeAllocatable") or [])
    for name in given:
        if name not in _ENFORCEABLE:
            yield (
                f'enforceNodeAllocatable "{shown(name)}" is unknown; allowed are '
                f"{', '.join(_ENFORCEABLE)}"
            )
    for name in sorted(set(given)):
        if given.count(name) > 1:
            yield f"enforceNodeAllocatable has {shown(name)} twice; remove one"
    if "none" in given and len(given) > 1:
        yield "enforceNodeAllocatable has none beside others; keep one of both"
    for part, field in (("system", "systemReservedCgroup"), ("kube", "kubeReservedCgroup")):
        asked = {f"{part}-reserved", f"{part}-reserved-compressible"} & set(given)
        if asked and not found.get(field):
            yield (
                f"enforceNodeAllocatable with {min(asked)} needs {field}; set it or enforce pods "
                "alone"
            )
        if len(asked) > 1:
            yield f"enforceNodeAllocatable has {' and '.join(sorted(asked))}; keep one"
    # a list that is left out enforces pods, an empty one nothing
    enforces = set(given or ["pods"]) if found.get("enforceNodeAllocatable") != [] else set()
    if found.get("cgroupsPerQOS") is False and enforces - {"none"}:
        yield 'cgroupsPerQOS false cannot stand beside enforceNodeAllocatable; set that to ["none"]'


def _evictions(found: Json) -> Iterator[str]:
    soft = cast("dict[str, str]", found.get("evictionSoft") or {})
    grace = cast("dict[str, str]", found.get("evictionSoftGracePeriod") or {})
    for field in (
        "evictionHard",
        "evictionSoft",
        "evictionSoftGracePeriod",
        "evictionMinimumReclaim",
    ):
        for signal in cast("dict[str, str]", found.get(field) or {}):
            if signal not in ALL_SIGNALS and field != "evictionHard":
                yield f"{field} has the unknown signal {shown(signal)}; remove it"
    for field in ("evictionHard", "evictionSoft"):
        for signal, value in cast("dict[str, str]", found.get(field) or {}).items():
            if not _threshold(value):
                yield (
                    f'{field} {shown(signal)} "{shown(value)}" is no threshold; write such as 1Gi '
                    "or 10%"
                )
    for signal in soft:
        if soft[signal] not in ("0%", "100%") and signal not in grace:
            yield f"evictionSoft {shown(signal)} needs a time in evictionSoftGracePeriod; add one"
    for signal, time in grace.items():
        if (duration(time) or -1) < 0 and duration(time) != 0:
            yield (
                f'evictionSoftGracePeriod {shown(signal)} "{shown(time)}" is no time; write such '
                "as 90s"
            )
    for signal, value in cast("dict[str, str]", found.get("evictionMinimumReclaim") or {}).items():
        if not (_PERCENT.fullmatch(value) and float(value[:-1]) > 0) and not amount(value):
            yield (
                f'evictionMinimumReclaim {shown(signal)} "{shown(value)}" is no amount; write '
                "such as 500Mi"
            )


def _threshold(value: str) -> bool:
    if _PERCENT.fullmatch(value):
        return float(value[:-1]) <= 100
    return amount(value) and bool(re.search(r"[1-9]", re.split(r"[eE]", value)[0]))


def _reserved(found: Json) -> Iterator[str]:
    for field in ("kubeReserved", "systemReserved"):
        for name, value in cast("dict[str, str]", found.get(field) or {}).items():
            if not amount(value):
                yield f'{field}.{shown(name)} "{shown(value)}" is no quantity; write such as 4Gi'
    for name, value in cast("dict[str, str]", found.get("qosReserved") or {}).items():
        if name != "memory" or not re.fullmatch(r"\d+%", value) or int(value[:-1]) > 100:
            yield (
                f"qosReserved has {shown(name)}={shown(value)}; it keeps memory alone, as a "
                "percentage"
            )
    seen: set[tuple[int, str]] = set()
    for entry in cast("list[dict[str, Any]]", found.get("reservedMemory") or []):
        node = int(entry.get("numaNode", 0))
        for kind in entry.get("limits") or {}:
            if (node, kind) in seen:
                yield f"reservedMemory gives {shown(kind)} of NUMA node {node} twice; give it once"
            seen.add((node, kind))
            if kind != "memory" and not kind.startswith("hugepages-"):
                yield f"reservedMemory cannot keep {shown(kind)}; it keeps memory and hugepages"
