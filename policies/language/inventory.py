"""The machines and pools that a stack's resources describe, with the prices of the catalogue.

A machine is a BareMetalHost, a server of Hetzner or an EC2 instance with GPUs; a NodePool counts as
all the machines that its limit on GPUs allows and a group of such instances as its largest size,
which is the most that it can cost: of several types at the price of the dearest. What the catalogue
does not know, or has no price for, is left out here, and the rule on verified prices names it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from hardware.catalogue import Hardware, HardwareError, load
from policies.language.gpu_node_pools import is_gpu_node_pool, names_gpu_instances
from policies.language.manifest import at, items, mapping, quantity
from policies.language.rule import Manifest
from policies.language.warm_capacity import ec2_types, said
from settings.names import (
    CAPACITY_LABEL,
    GPU,
    HARDWARE_LABEL,
    INSTANCE_TYPE_LABEL,
    POOL_LABEL,
    PURPOSE_LABEL,
    SERVER,
    SITE_LABEL,
)

ANY = "any machine with GPUs"
POOL_COMPONENTS = "gpu:pools:"
HOURS_PER_DAY = 24
EC2: Mapping[str, tuple[str, ...]] = {
    "aws:ec2/instance:Instance": (),
    "aws:eks/nodeGroup:NodeGroup": ("scalingConfig", "maxSize"),
    "aws:autoscaling/group:Group": ("maxSize",),
}
"""Resources of AWS that are machines, each with the field of how many it may have."""


@dataclass(frozen=True, kw_only=True)
class Machines:
    """Machines of one kind: of which pool, what they are, how many and how they are paid."""

    pool: str
    hardware: Hardware
    count: float
    capacity: str | None = None
    """`reserved`, `spot` or `on-demand` for those that Karpenter rents."""

    @property
    def usd_per_hour(self) -> float | None:
        """What an hour of one costs as it is paid, by the nearest price that is known."""
        return self.hardware.usd_per_hour_as(self.capacity)

    @property
    def usd_per_day(self) -> float:
        """What all of them cost in a day, 0 where no price is known."""
        return (self.usd_per_hour or 0) * HOURS_PER_DAY * self.count


def hardware_names(manifest: Manifest) -> list[str]:
    """The machines that a resource is or may rent, in a catalogue or not."""
    kind = manifest.get("kind")
    if kind == SERVER:
        found = [at(manifest, "spec", "serverType")]
    elif kind == "BareMetalHost":
        found = [at(manifest, "metadata", "labels", HARDWARE_LABEL)]
    elif kind in EC2:
        types = ec2_types(manifest)
        found = [*types] if names_gpu_instances(types) else []
    elif kind == "NodePool" and is_gpu_node_pool(manifest):
        found = [*_wanted(manifest).get(INSTANCE_TYPE_LABEL, [ANY])]
    else:
        return []
    return [str(each) for each in found if each is not None]


def capacity_of(manifest: Manifest) -> str | None:
    """The one capacity type of a NodePool or group, None where it has several or is none."""
    if manifest.get("kind") in EC2:
        return "spot" if at(manifest, "spec", "capacityType") == "SPOT" else None
    capacities = _wanted(manifest).get(CAPACITY_LABEL, [])
    return capacities[0] if len(capacities) == 1 else None


def _wanted(manifest: Manifest) -> dict[str, list[str]]:
    """The values that a NodePool allows of each label."""
    if manifest.get("kind") != "NodePool":
        return {}
    return {
        str(at(each, "key")): [str(value) for value in items(at(each, "values"))]
        for each in items(at(manifest, "spec", "template", "spec", "requirements"))
        if at(each, "operator") == "In"
    }


def machines(manifest: Manifest) -> Machines | None:
    """The machines that a resource is or may rent, None where it is none or an unknown one."""
    kind = manifest.get("kind")
    if kind == SERVER:
        pool = at(manifest, "spec", "labels", POOL_LABEL)
        return _machines(pool, at(manifest, "spec", "serverType"), 1)
    labels = at(manifest, "metadata", "labels")
    if kind == "BareMetalHost":
        return _machines(at(labels, POOL_LABEL), at(labels, HARDWARE_LABEL), 1)
    if kind in EC2:
        pool, most = said(manifest).get(POOL_LABEL), _most(manifest)
        return None if most is None else _dearest(manifest, pool, lambda _: most)
    if kind == "NodePool" and is_gpu_node_pool(manifest):
        gpus = quantity(at(manifest, "spec", "limits", GPU))
        pool = at(manifest, "spec", "template", "metadata", "labels", POOL_LABEL)
        return None if gpus is None else _dearest(manifest, pool, lambda of: float(gpus) / of)
    return None


def _dearest(manifest: Manifest, pool: object, count: Callable[[int], float]) -> Machines | None:
    """The machines that a resource may rent, as those of which a day costs most."""
    found = [
        Machines(
            pool=str(pool or at(manifest, "metadata", "name")),
            hardware=hardware,
            count=count(hardware.gpu_count),
            capacity=capacity_of(manifest),
        )
        for hardware in map(_load, hardware_names(manifest))
        if hardware is not None and hardware.gpu_count
    ]
    return max(found, key=lambda each: each.usd_per_day, default=None)


def _most(manifest: Manifest) -> float | None:
    """How many instances a group may have."""
    path = EC2[str(manifest.get("kind"))]
    most = at(manifest, "spec", *path) if path else 1
    return float(most) if isinstance(most, int | float) else None


def _machines(pool: object, name: object, count: int) -> Machines | None:
    hardware = _load(str(name))
    return None if hardware is None else Machines(pool=str(pool), hardware=hardware, count=count)


@cache
def _load(name: str) -> Hardware | None:
    try:
        return load(name)
    except HardwareError:  # which looks for names that are near, each time
        return None


def usd_per_day_by_pool(stack: Iterable[Manifest]) -> dict[str, float]:
    """The most that each pool of a stack can cost in a day."""
    found: dict[str, float] = {}
    for each in map(machines, stack):
        if each is not None:
            found[each.pool] = found.get(each.pool, 0) + each.usd_per_day
    return found


PoolKind = Literal["bare-metal", "aws", "hetzner"]
_KIND_OF: Mapping[str, PoolKind] = {
    "BareMetalHost": "bare-metal",
    "EC2NodeClass": "aws",
    "NodePool": "aws",
    SERVER: "hetzner",
}


@dataclass(frozen=True, kw_only=True)
class DeployedPool:
    """A pool as its resources describe it, whatever the settings say.

    `machines` are the names of those that always run, `gpu_limits` the most GPUs of each kind of
    capacity that Karpenter may rent, `images` the addresses, ids or names of what machines boot.
    """

    name: str
    kind: PoolKind
    site: str
    hardware: str
    purpose: str
    machines: tuple[str, ...]
    gpu_limits: Mapping[str, int]
    images: tuple[str, ...]

    @property
    def gpu_limit(self) -> int | None:
        """The most GPUs of all kinds of capacity; None where nothing limits them."""
        return sum(self.gpu_limits.values()) if self.gpu_limits else None


def deployed_pools(stack: Iterable[Manifest]) -> tuple[DeployedPool, ...]:
    """Return the pools that the labels of resources name, in alphabetical order.

    A gateway, whose cost counts under its own name, has no label of its hardware and is no pool.
    """
    parts: dict[str, list[Manifest]] = {}
    for manifest in stack:
        labels = _labels(manifest)
        if manifest.get("kind") in _KIND_OF and {POOL_LABEL, HARDWARE_LABEL} <= labels.keys():
            parts.setdefault(str(labels[POOL_LABEL]), []).append(manifest)
    return tuple(_deployed(name, parts[name]) for name in sorted(parts))


def _deployed(name: str, parts: Sequence[Manifest]) -> DeployedPool:
    labels, first = _labels(parts[0]), str(parts[0]["kind"])
    always = [each for each in parts if each["kind"] in ("BareMetalHost", SERVER)]
    limits = [
        (capacity_of(each), gpu_limit_of(each)) for each in parts if each["kind"] == "NodePool"
    ]
    images = {image for each in parts for image in _images(each)}
    return DeployedPool(
        name=name,
        kind=_KIND_OF[first],
        site=str(labels.get(SITE_LABEL, "")),
        hardware=str(labels.get(HARDWARE_LABEL, "")),
        purpose=str(labels.get(PURPOSE_LABEL, "")),
        machines=tuple(sorted(str(at(each, "metadata", "name")) for each in always)),
        gpu_limits={str(capacity): limit for capacity, limit in limits if limit is not None},
        images=tuple(sorted(images)),
    )


def _labels(manifest: Manifest) -> Mapping[str, object]:
    path = ("spec", "labels") if manifest.get("kind") == SERVER else ("metadata", "labels")
    return mapping(at(manifest, *path))


def pool_of(manifest: Manifest) -> str:
    """Return the id of the pool that a resource is a part of, or is; empty where it is of none."""
    if str(manifest.get("kind")).startswith(POOL_COMPONENTS):
        return str(at(manifest, "metadata", "name"))
    return str(_labels(manifest).get(POOL_LABEL, ""))


def gpu_limit_of(node_pool: Manifest) -> int | None:
    """Return the most GPUs that a NodePool may have; None without a limit."""
    found = quantity(at(node_pool, "spec", "limits", GPU))
    return None if found is None else int(found)


def _images(manifest: Manifest) -> Iterator[str]:
    if manifest["kind"] == SERVER:
        yield str(at(manifest, "spec", "image"))
    elif manifest["kind"] == "BareMetalHost":
        yield str(at(manifest, "spec", "image", "url"))
    else:
        for term in items(at(manifest, "spec", "amiSelectorTerms")):
            yield str(at(term, "name"))
