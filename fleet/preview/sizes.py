"""Computes pool sizes before and after, and whether their machines would reboot."""

from dataclasses import dataclass, replace

from fleet.preview.boot_data import needs
from fleet.preview.pools import MACHINES, Pool, PoolChange, class_changes
from hardware.catalogue import HardwareError, load

Pair = tuple[int | None, int | None]  # before and after; None is not known


@dataclass(frozen=True, kw_only=True)
class Size:
    """A pool in numbers. `at_most`: its nodes come and go, up to a limit."""

    nodes: Pair
    gpus: Pair
    at_most: bool
    reboot: str  # whether the machines that run already boot again, and why


def told(pair: Pair, *, at_most: bool, emphasis: str = "") -> str:
    """Returns a number before and after, or the one where nothing changes."""
    before, after = ("?" if number is None else f"{number:,}" for number in pair)
    shown = after if before == after else f"{before} → {emphasis}{after}{emphasis}"
    return f"up to {shown}" if at_most else shown


def size(change: PoolChange) -> Size:
    """Returns the size of a pool; a new or deleted pool has no size on the other side."""
    sides = (change.before, change.after)
    return Size(
        nodes=(_nodes(sides[0]), _nodes(sides[1])),
        gpus=(_gpus(sides[0]), _gpus(sides[1])),
        at_most=any(pool.limits for pool in sides if pool),
        reboot=_reboot(change),
    )


def _per_node(pool: Pool) -> int | None:
    try:
        return load(pool.hardware).gpu_count
    except HardwareError:  # it has left the catalogue
        return None


def _nodes(pool: Pool | None) -> int | None:
    if pool is None or not pool.limits:  # without any, the engine has not come to its machines
        return len(pool.machines) or None if pool else 0
    gpus = _per_node(pool)
    return sum(pool.limits.values()) // gpus if gpus else None


def _gpus(pool: Pool | None) -> int | None:
    if pool is None or pool.limits:
        return sum(pool.limits.values()) if pool else 0
    gpus = _per_node(pool)
    return gpus * len(pool.machines) if pool.machines and gpus is not None else None


def _reboot(change: PoolChange) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        return "no"
    replaced = sum(s.op == "replace" for s in change.steps if s.type in MACHINES)
    if replaced:
        return f"yes, {replaced} replaced"
    if change.type == "gpu:pools:AwsGpuPool":
        drifts = before != replace(after, limits=before.limits) or class_changes(change)
        when = " after their jobs" if after.purpose == "training" else ""
        return f"yes, nodes are replaced{when}" if drifts else "no"
    if before.hardware != after.hardware:
        stay = any(s.op in ("same", "update") for s in change.steps if s.type in MACHINES)
        return "yes, to take it over" if stay else "no"
    return _taken_over(before, after)


def _taken_over(before: Pool, after: Pool) -> str:
    """Returns what changed boot data needs on machines that are not replaced."""
    if before.ignition == after.ignition:
        return "no"
    taken_over = needs(before, after)
    if "reboot" in taken_over:
        return "yes, to take it over"
    return f"no, {'; '.join(taken_over)}" if taken_over else "not known"
