"""What another boot data would make of a machine, in the words of the Node that comes up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardware.hardware import HardwareError, load
from ignition.boot import boot
from ignition.boot.config import ConfigError, read
from ignition.render import Join, data_url, join_ignition, with_merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fleet.preview.pools import Pool
    from ignition.boot import BootedNode

SHOWN = 4  # differences of one pool
NUMA_PLAN = "fleet.gpu/numa-plan"  # a digest: it changes with everything that is told here
# A pool's plain boot data lacks the secret part that joins, without which no machine comes up.
_JOIN = join_ignition(
    Join(
        api_server_endpoint="preview.invalid:6443",
        token="000000.0000000000000000",  # noqa: S106  # stands for the one that nobody may read
        ca_cert_hash=f"sha256:{'0' * 64}",
        hostname="preview",
    )
)


def difference(before: Pool, after: Pool) -> str:
    """How the machines of a pool would differ; empty where they boot with the same."""
    if before.ignition == after.ignition:
        return ""
    old, new = _node(before), _node(after)
    tuned = [] if old is None or new is None else [*_nodes(old, new)]
    if tuned:
        return f"tuning changed: {_shown(tuned)}"
    parts = [*_parts(before.ignition, after.ignition)]
    return f"boot data changed: {_shown(parts)}" if parts else "boot data changed"


def _shown(told: Sequence[str]) -> str:
    more = len(told) - SHOWN
    return ", ".join(told[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _node(pool: Pool) -> BootedNode | None:
    """The Node, or None where boot data of another time does not come up under today's rules."""
    try:
        return boot(with_merge(pool.ignition, data_url(_JOIN)), load(pool.hardware)).node
    except (HardwareError, ValueError):
        return None


def _nodes(old: BootedNode, new: BootedNode) -> Iterator[str]:
    for resource in sorted({*old.hugepages, *new.hugepages}):
        pages = [_pages(node.hugepages.get(resource, (0,))) for node in (old, new)]
        if pages[0] != pages[1]:
            size = resource.removeprefix("hugepages-")
            yield f"{size} hugepages of each NUMA node {pages[0]} → {pages[1]}"
    yield from _pair("housekeeping CPUs", old.housekeeping_cpus, new.housekeeping_cpus)
    for resource, unit in (("cpu", "CPUs for pods"), ("memory", "memory for pods")):
        yield from _pair(unit, _size(old, resource), _size(new, resource))
    for key in sorted({*old.labels, *new.labels} - {NUMA_PLAN}):
        yield from _pair(f"label {key}", old.labels.get(key), new.labels.get(key))
    yield from _pair("taints", _taints(old), _taints(new))


def _pages(counts: Sequence[int]) -> str:
    same = len(set(counts)) == 1
    return str(counts[0]) if same else "/".join(map(str, counts))


def _pair(what: str, old: str | None, new: str | None) -> Iterator[str]:
    if old != new:
        yield f"{what} {old or 'none'} → {new or 'none'}"


def _size(node: BootedNode, resource: str) -> str:
    amount = node.allocatable.get(resource, "0")
    if amount.endswith("Ki"):
        return f"{int(amount.removesuffix('Ki')) / 1024**2:.0f} GiB"
    return amount


def _taints(node: BootedNode) -> str:
    told = (f"{taint['key']}:{taint['effect']}" for taint in node.taints)
    return ", ".join(sorted(told))


def _parts(old: str, new: str) -> Iterator[str]:
    """The kernel's command line, files and units that differ, for what makes no other Node."""
    try:
        before, after = read(old, None, []), read(new, None, [])
    except ConfigError:
        return
    if before.arguments != after.arguments:
        yield "kernel arguments"
    for path in sorted({*before.files, *after.files}):
        if before.files.get(path) != after.files.get(path):
            yield path
    for name in sorted({*before.units, *after.units}):
        if before.units.get(name) != after.units.get(name):
            yield name
