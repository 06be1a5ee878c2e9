"""What a running pod holds: GPUs, since when, and what they cost at the catalogue's price.

The share of its node is what it asks for among what the node offers, so that time-slices and MIG
devices count as parts of GPUs: a MIG device by its compute slices, of which a GPU has seven.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from hardware.catalogue import Hardware, HardwareError, load
from policies.language.gpu_work import counted
from policies.language.manifest import at, items, mapping
from policies.language.pod_search import GPU_RESOURCES
from policies.language.rule import Manifest
from settings.names import CAPACITY_LABEL, HARDWARE_LABEL, INSTANCE_TYPE_LABEL

_SLICES = 7
_MIG = re.compile(r"nvidia\.com/mig-([1-7])g\.")
_HOUR_S = 3600


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a pod holds now; `usd_per_hour` is None where no price is known, see `hardware`."""

    gpus: float
    hours: float
    usd_per_hour: float | None
    hardware: str
    """Of its node, as the node's labels say."""
    is_verified: bool

    @property
    def gpu_hours(self) -> float:
        """What it has held so far."""
        return self.gpus * self.hours

    @property
    def usd(self) -> float:
        """What that has cost so far, 0 where no price is known."""
        return (self.usd_per_hour or 0) * self.hours


def held(pod: Manifest, nodes: Mapping[str, Manifest], now: datetime) -> Held | None:
    """Return what a pod holds; None for one without GPUs, or on no node yet."""
    asked = _asked(pod)
    if not asked or not at(pod, "spec", "nodeName"):
        return None
    node = nodes.get(str(at(pod, "spec", "nodeName")), {})
    labels = mapping(at(node, "metadata", "labels"))
    name = str(labels.get(HARDWARE_LABEL) or labels.get(INSTANCE_TYPE_LABEL) or "")
    hardware = _load(name)
    offered = _devices(at(node, "status", "capacity"))
    gpus = _weight(asked) / _SLICES
    if hardware and hardware.gpu_count and offered:
        gpus = hardware.gpu_count * _weight(asked) / _weight(offered)
    return Held(
        gpus=gpus,
        hours=_hours(pod, now),
        usd_per_hour=_usd_per_hour(hardware, str(labels.get(CAPACITY_LABEL, "")), gpus),
        hardware=name,
        is_verified=hardware is not None and hardware.price.verified,
    )


def _usd_per_hour(hardware: Hardware | None, capacity: str, gpus: float) -> float | None:
    if hardware is None or not hardware.gpu_count:
        return None
    usd = hardware.usd_per_hour_as(capacity)
    return None if usd is None else usd * gpus / hardware.gpu_count


def _asked(pod: Manifest) -> dict[str, int]:
    """What the scheduler counts: all containers together, or an init container that asks more."""
    always: dict[str, int] = {}
    once: dict[str, int] = {}
    for each in items(at(pod, "spec", "containers")):
        _add(always, each)
    for each in items(at(pod, "spec", "initContainers")):
        if at(each, "restartPolicy") == "Always":
            _add(always, each)
        else:
            for name, count in _devices(at(each, "resources", "limits")).items():
                once[name] = max(once.get(name, 0), count)
    return {name: max(always.get(name, 0), once.get(name, 0)) for name in {*always, *once}}


def _add(to: dict[str, int], container: object) -> None:
    for name, count in _devices(at(container, "resources", "limits")).items():
        to[name] = to.get(name, 0) + count


def _devices(resources: object) -> dict[str, int]:
    found = {
        name: counted(amount)
        for name, amount in mapping(resources).items()
        if name.startswith(GPU_RESOURCES)
    }
    return {name: count for name, count in found.items() if count}


def _weight(devices: Mapping[str, int]) -> int:
    weighed = ((_MIG.match(name), count) for name, count in devices.items())
    return sum(count * (int(mig[1]) if mig else _SLICES) for mig, count in weighed)


def _hours(pod: Manifest, now: datetime) -> float:
    since = at(pod, "status", "startTime") or at(pod, "metadata", "creationTimestamp")
    try:
        started = datetime.fromisoformat(str(since))
    except ValueError:
        return 0
    return max((now - started).total_seconds(), 0) / _HOUR_S


@cache
def _load(name: str) -> Hardware | None:
    try:
        return load(name)
    except HardwareError:
        return None
