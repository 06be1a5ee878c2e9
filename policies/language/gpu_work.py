"""Finds pods that ask for GPUs, and objects that are not meant to end."""

import re
from collections.abc import Iterator, Mapping, Sequence

from policies.language.manifest import at, items, mapping
from policies.language.pods import Pod, pods
from policies.language.rule import Manifest
from settings.names import GPU

_GPU_RESOURCES = (GPU, "nvidia.com/mig-")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
SERVICES = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "ReplicationController",
    "Notebook",
)
"""Kinds that are not meant to end."""
COUNT_PATTERN = "^[1-9][0-9]{0,8}$"
"""`counted` as a pattern of CEL: a whole number from 1 to 999999999."""


def asked_gpus(container: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yields each resource of NVIDIA's that a container asks for, with how much of it."""
    resources = container.get("resources")
    for part in ("limits", "requests"):
        for name, amount in mapping(at(resources, part)).items():
            if name.startswith(_GPU_RESOURCES) and str(amount) != "0":
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


def is_owned_pod(manifest: Manifest) -> bool:
    """Return whether this is a Pod that another object made, and that was judged in its place."""
    return manifest.get("kind") == "Pod" and bool(_owners(manifest))


def is_service(manifest: Manifest) -> bool:
    """Return whether this is not meant to end: a service, or a Pod of one."""
    if manifest.get("kind") == "Pod":
        return any(at(owner, "kind") in SERVICES for owner in _owners(manifest))
    return manifest.get("kind") in SERVICES


def _owners(manifest: Manifest) -> Sequence[object]:
    return items(at(manifest, "metadata", "ownerReferences"))


_OWNERS = "object.metadata.?ownerReferences.orValue([])"
IS_OWNED_POD = f"(object.kind == 'Pod' && size({_OWNERS}) > 0)"
"""CEL: `is_owned_pod`."""
IS_SERVICE = (
    f"(object.kind in {list(SERVICES)} || "
    f"object.kind == 'Pod' && {_OWNERS}.exists(o, o.kind in {list(SERVICES)}))"
)
"""CEL: `is_service`."""
