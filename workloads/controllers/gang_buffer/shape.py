"""What a pod asks for and a machine has: CPUs, memory and whole GPUs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GPU = "nvidia.com/gpu"
_VENDOR = "nvidia.com/"
_UNITS = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    **{unit: 1000.0 ** (power + 1) for power, unit in enumerate("kMGTPE")},
    **{f"{unit}i": 1024.0 ** (power + 1) for power, unit in enumerate("KMGTPE")},
}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """An amount of each; memory in bytes."""

    cpu: float = 0.0
    memory: float = 0.0
    gpus: float = 0.0

    def __add__(self, other: "Shape") -> "Shape":
        """Return both together."""
        return Shape(
            cpu=self.cpu + other.cpu,
            memory=self.memory + other.memory,
            gpus=self.gpus + other.gpus,
        )

    def __sub__(self, other: "Shape") -> "Shape":
        """Return what is left of it."""
        return self + Shape(cpu=-other.cpu, memory=-other.memory, gpus=-other.gpus)

    def fits(self, place: "Shape") -> bool:
        """Return whether it has room in a place."""
        return self.cpu <= place.cpu and self.memory <= place.memory and self.gpus <= place.gpus

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.gpus:g} GPUs, {self.cpu:g} CPUs and {self.memory / 1024**3:.0f} GiB"


def of(resources: Mapping[str, Any]) -> Shape:
    """Return the shape of a list of resources as Kubernetes writes them."""
    cpu, memory, gpus = (amount(resources.get(name, 0)) for name in ("cpu", "memory", GPU))
    return Shape(cpu=cpu, memory=memory, gpus=gpus)


def of_pod(spec: Mapping[str, Any]) -> Shape:
    """Return what the scheduler counts for a pod: all that runs at once, or the largest start."""
    starts = spec.get("initContainers") or ()
    stays = [each for each in starts if each.get("restartPolicy") == "Always"]
    together = sum(map(_asked, [*spec["containers"], *stays]), start=Shape())
    peaks = [together, *(_asked(each) for each in starts if each not in stays)]
    return Shape(
        cpu=max(peak.cpu for peak in peaks),
        memory=max(peak.memory for peak in peaks),
        gpus=max(peak.gpus for peak in peaks),
    )


def parts_of_gpus(spec: Mapping[str, Any]) -> list[str]:
    """Return the parts of GPUs that a pod asks for; they are of no rented machine."""
    asked = (
        name
        for container in (*spec["containers"], *(spec.get("initContainers") or ()))
        for name in (container.get("resources") or {}).get("requests") or {}
    )
    return sorted({name for name in asked if name.startswith(_VENDOR) and name != GPU})


def amount(quantity: object) -> float:
    """Return the number of a Kubernetes quantity."""
    found = re.fullmatch(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([num]|[kMGTPE]|[KMGTPE]i)?", str(quantity))
    return float(found[1]) * _UNITS[found[2] or ""] if found else 0.0


def placed(pods: Iterable[Shape], places: list[Shape]) -> list[Shape]:
    """Take the pods' room out of the places; return the pods for which there is none."""
    left = []
    for pod in sorted(pods, key=lambda each: -each.gpus):
        fitting = [number for number, place in enumerate(places) if pod.fits(place)]
        if not fitting:
            left.append(pod)
            continue
        tightest = min(fitting, key=lambda number: places[number].gpus)
        places[tightest] -= pod
    return left


def machines(pods: Sequence[Shape], machine: Shape) -> int:
    """Return how many new machines hold the pods, each of which fits one."""
    places: list[Shape] = []
    for pod in sorted(pods, key=lambda each: -each.gpus):
        if placed([pod], places):
            places.append(machine - pod)
    return len(places)


def _asked(container: Mapping[str, Any]) -> Shape:
    return of((container.get("resources") or {}).get("requests") or {})
