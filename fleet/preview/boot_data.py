"""Compares two versions of boot data by the Nodes that they produce."""

from collections.abc import Iterator, Mapping, Sequence

from fleet.plan.description import Group
from fleet.plan.difference import difference as held_against
from fleet.preview.pools import Pool
from hardware.catalogue import HardwareError, load
from ignition.boot.config import BootConfig, ConfigError, read
from ignition.boot.node import BootedNode, boot
from ignition.write.render import Join, data_url, join_ignition, with_merge
from policies.language.manifest import at, items
from settings.names import NUMA_PLAN_LABEL

SHOWN = 4  # differences of one pool
KUBELET = ("/etc/kubernetes/", "/etc/sysconfig/kubelet")
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
    """Returns how the machines of a pool would differ; empty where the boot data is the same."""
    if before.ignition == after.ignition:
        return ""
    old, new = _node(before), _node(after)
    tuned = [] if old is None or new is None else [*_nodes(old, new)]
    if tuned:
        return f"tuning changed: {_shown(tuned)}"
    parts = [*_parts(before.ignition, after.ignition)]
    return f"boot data changed: {_shown(parts)}" if parts else "boot data changed"


def needs(before: Pool, after: Pool) -> tuple[str, ...]:
    """Returns what a running machine needs to adopt the other boot data without being replaced.

    Such as a reboot for another kernel argument; the same words as in `fleet plan diff`. Empty
    where the boot data is the same, or is of another time and cannot be read.
    """
    try:
        old, new = ({"lines": [*_lines(pool.ignition)]} for pool in (before, after))
    except ConfigError:
        return ()
    return tuple(dict.fromkeys(change.needs for change in held_against(old, new).changes))


def _lines(ignition: str) -> Iterator[Mapping[str, object]]:
    """Returns boot data as lines of a plan, one for each kernel argument, file, link and unit."""
    config = read(ignition, None, [])
    for argument in config.arguments:
        yield {"group": "kernel argument", "key": argument, "value": None}
    for name, piece in _pieces(config).items():
        yield {"group": _group(name), "key": name, "value": piece}


def _pieces(config: BootConfig) -> dict[str, object]:
    """Returns files, folders, links and units by name; files come with their checksums."""
    written = {at(file, "path"): file for file in items(config.storage.get("files"))}
    files = {path: (file, written.get(path)) for path, file in config.files.items()}
    return {**files, **config.directories, **config.links, **config.units}


def _group(path: str) -> Group:
    if path.startswith("/etc/sysctl.d/"):
        return "sysctl"
    return "kubelet" if path.startswith(KUBELET) else "system"


def _shown(told: Sequence[str]) -> str:
    more = len(told) - SHOWN
    return ", ".join(told[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _node(pool: Pool) -> BootedNode | None:
    """Returns the Node; None where older boot data does not boot under today's rules."""
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
    # the plan's digest changes with everything that is listed here
    for key in sorted({*old.labels, *new.labels} - {NUMA_PLAN_LABEL}):
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
    """Returns the kernel arguments, files and units that differ while the Node stays the same."""
    try:
        before, after = read(old, None, []), read(new, None, [])
    except ConfigError:
        return
    if before.arguments != after.arguments:
        yield "kernel arguments"
    old_pieces, new_pieces = _pieces(before), _pieces(after)
    for name in sorted({*old_pieces, *new_pieces}):
        if old_pieces.get(name) != new_pieces.get(name):
            yield name
