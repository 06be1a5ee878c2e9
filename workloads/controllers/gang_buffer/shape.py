"""What a pod asks for and a machine has: an amount of each resource by name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

GPU = "nvidia.com/gpu"
_VENDOR = "nvidia.com/"
_USUAL = ("cpu", "memory", GPU)
_UNLISTED = "ephemeral-storage"
"""Every machine has some, also one whose offer does not name it."""
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
    """An amount of each resource; memory and huge pages in bytes."""

    amounts: Mapping[str, float] = field(default_factory=dict)

    @property
    def gpus(self) -> float:
        """The whole GPUs."""
        return self.amounts.get(GPU, 0.0)

    def __add__(self, other: "Shape") -> "Shape":
        """Return both together."""
        names = [*self.amounts, *(name for name in other.amounts if name not in self.amounts)]
        both = (self.amounts, other.amounts)
        return Shape(amounts={name: sum(each.get(name, 0.0) for each in both) for name in names})

    def __sub__(self, other: "Shape") -> "Shape":
        """Return what is left of it."""
        left = {name: have - other.amounts.get(name, 0.0) for name, have in self.amounts.items()}
        return Shape(amounts=left)

    def fits(self, place: "Shape") -> bool:
        """Return whether it has room in a place."""
        return all(
            asked <= place.amounts.get(name, asked if name == _UNLISTED else 0.0)
            for name, asked in self.amounts.items()
            if asked
        )

    def __str__(self) -> str:
        """Return it in words."""
        cpu, memory = (self.amounts.get(name, 0.0) for name in ("cpu", "memory"))
        usual = f"{self.gpus:g} GPUs, {cpu:g} CPUs and {memory / 1024**3:.0f} GiB"
        others = [
            f"{asked / 1024**3:g} GiB of {name}" if "hugepages-" in name else f"{asked:g} {name}"
            for name, asked in self.amounts.items()
            if name not in (*_USUAL, _UNLISTED) and asked
        ]
        return ", ".join((usual, *others))


def of(resources: Mapping[str, Any]) -> Shape:
    """Return the shape of a list of resources as Kubernetes writes them."""
    return Shape(amounts={name: amount(each) for name, each in resources.items()})


def of_pod(spec: Mapping[str, Any]) -> Shape:
    """Return what the scheduler counts for a pod: all that runs at once, or the largest start."""
    starts = spec.get("initContainers") or ()
    stays = [each for each in starts if each.get("restartPolicy") == "Always"]
    together = sum(map(_asked, [*spec["containers"], *stays]), start=Shape())
    peaks = [together, *(_asked(each) for each in starts if each not in stays)]
    names = {name: None for peak in peaks for name in peak.amounts}
    return Shape(
        amounts={name: max(peak.amounts.get(name, 0.0) for peak in peaks) for name in names}
    )


def parts_of_gpus(shape: Shape) -> list[str]:
    """Return the parts of GPUs that a pod asks for; they are of no rented machine."""
    return sorted(name for name in shape.amounts if name.startswith(_VENDOR) and name != GPU)


def amount(quantity: object) -> float:
    """Return the number of a Kubernetes quantity."""
    found = re.fullmatch(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([num]|[kMGTPE]|[KMGTPE]i)?", str(quantity))
    return float(found[1]) * _UNITS[found[2] or ""] if found else 0.0


def machines(pods: Sequence[Shape], machine: Shape) -> int:
    """Return how many new machines hold the pods, each of which fits one."""
    left: list[Shape] = []
    for pod in sorted(pods, key=lambda each: -each.gpus):
        number = tightest(pod, left)
        if number is None:
            left.append(machine - pod)
        else:
            left[number] -= pod
    return len(left)


def tightest(pod: Shape, rooms: Sequence[Shape]) -> int | None:
    """Return which of these has the fewest GPUs left of those that have room for a pod."""
    fitting = [number for number, room in enumerate(rooms) if pod.fits(room)]
    return min(fitting, key=lambda number: rooms[number].gpus, default=None)


def _asked(container: Mapping[str, Any]) -> Shape:
    return of((container.get("resources") or {}).get("requests") or {})
