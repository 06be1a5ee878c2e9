"""Finds pods that ask for GPUs."""

import re
from collections.abc import Iterator, Mapping

from policies.language.manifest import at, is_some, mapping
from policies.language.owners import IS_OWNED_POD, IS_SERVICE, is_owned_pod, is_service
from policies.language.pod_search import GPU_RESOURCES
from policies.language.pods import Pod, pods
from policies.language.rule import Manifest

__all__ = [
    "COUNT_PATTERN",
    "IS_OWNED_POD",
    "IS_SERVICE",
    "asked_gpus",
    "asks_for_gpus",
    "counted",
    "gpu_pods",
    "is_owned_pod",
    "is_service",
]

_COUNT = re.compile(r"[1-9][0-9]{0,8}")
COUNT_PATTERN = "^[1-9][0-9]{0,8}$"
"""`counted` as a pattern of CEL: a whole number from 1 to 999999999."""


def asked_gpus(container: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yields each resource of NVIDIA's that a container asks for, with how much of it.

    A null is none of it, and numa/quantities tells of it.
    """
    resources = container.get("resources")
    for part in ("limits", "requests"):
        for name, amount in mapping(at(resources, part)).items():
            if name.startswith(GPU_RESOURCES) and is_some(amount):
                yield name, amount


def asks_for_gpus(pod: Pod) -> bool:
    """Return whether a pod asks for whole GPUs, time-slices of them or MIG devices."""
    return any(True for container in pod.containers for _ in asked_gpus(container))


def gpu_pods(manifest: Manifest) -> list[Pod]:
    """The pods of an object that ask for GPUs."""
    return [pod for pod in pods(manifest) if asks_for_gpus(pod)]


def counted(value: object) -> int | None:
    """Returns a whole number above 0, written as a number or as text, else None."""
    if isinstance(value, bool) or not _COUNT.fullmatch(str(value)):
        return None
    return int(str(value))
