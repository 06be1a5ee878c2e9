"""The Topology Manager: hints of the resources merged into one set of NUMA nodes, and the verdict.

A set of NUMA nodes is a bit mask, as in kubelet (pkg/kubelet/cm/topologymanager of Kubernetes 1.36,
https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/). Kubelet walks through every
combination of hints; here the sets are folded provider by provider, which gives the same best hint,
because its comparison orders the combinations whatever their sequence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ignition.shapes.node import EmptyNode


@dataclass(frozen=True, kw_only=True)
class Hint:
    """NUMA nodes as a mask, None where any will do, and whether no better set could be had."""

    mask: int | None
    preferred: bool


Hints = Mapping[int | None, bool]
"""The hints of one resource: each set of NUMA nodes that has enough of it, True if preferred."""

ANY: Hints = {None: True}
"""No preference."""
NEVER: Hints = {None: False}
"""No set of NUMA nodes has enough."""


@cache
def bits(mask: int) -> tuple[int, ...]:
    """The NUMA nodes of a mask in ascending order."""
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


@cache
def masks(nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Every non-empty set of these NUMA nodes."""
    found = [0]
    for node in nodes:
        found += [mask | 1 << node for mask in found]
    return tuple(found[1:])


def totals(amounts: Mapping[int, int]) -> dict[int, int]:
    """The sum of the amounts of NUMA nodes, for every non-empty set of them."""
    found = {0: 0}
    for node, amount in amounts.items():
        found |= {mask | 1 << node: total + amount for mask, total in found.items()}
    del found[0]
    return found


def merge(node: EmptyNode, resources: Iterable[Hints]) -> tuple[Hint, bool]:
    """The best hint of all resources together, and whether the node's policy admits it."""
    every = sum(1 << cell.id for cell in node.cells)
    hints = list(resources)
    if node.policy == "single-numa-node":
        hints = [_single(one) for one in hints]
    common = _common(hints, every)
    if common:
        mask = min(common, key=lambda mask: _fit(node, mask))
        whole = node.policy == "single-numa-node" and mask == every
        return Hint(mask=None if whole else mask, preferred=True), True
    if node.policy != "best-effort":
        return Hint(mask=None, preferred=False), False
    return Hint(mask=_second_best(node, hints, every), preferred=False), True


def _single(hints: Hints) -> Hints:
    return {
        mask: preferred
        for mask, preferred in hints.items()
        if preferred and (mask is None or mask.bit_count() == 1)
    }


def _common(hints: Sequence[Hints], every: int) -> set[int]:
    """The sets of NUMA nodes that all resources prefer."""
    common: set[int] | None = None
    for one in hints:
        good = {mask for mask, preferred in one.items() if preferred and mask is not None}
        if None not in one:
            common = good if common is None else common & good
        elif not one[None]:
            return set()
    return {every} if common is None else common


def _second_best(node: EmptyNode, hints: Sequence[Hints], every: int) -> int:
    """The NUMA nodes of the best combination of hints that do not all agree on a preferred set."""
    wishes = [[mask for mask in one if mask is not None] for one in hints if None not in one]
    merged = {every}
    for masks_of_one in wishes:
        merged = {mask & other for mask in merged for other in masks_of_one}
    merged.discard(0)
    if not merged:
        return every
    widest = max((min(mask.bit_count() for mask in one) for one in wishes), default=0)
    return min(merged, key=lambda mask: _fall_back(node, mask, widest))


def _fit(node: EmptyNode, mask: int) -> tuple[int, float, int]:
    """Narrow sets first, then near ones where that is asked for, then the lower numbers."""
    near = node.prefer_closest and node.policy != "single-numa-node"
    return mask.bit_count(), _distance(node, mask) if near else 0.0, mask


def _fall_back(node: EmptyNode, mask: int, widest: int) -> tuple[int, int, tuple[int, float, int]]:
    """Rank first the sets as large as the neediest resource wants, then smaller, then larger."""
    count = mask.bit_count()
    if count == widest:
        return 0, 0, _fit(node, mask)
    return (1, -count, _fit(node, mask)) if count < widest else (2, 0, _fit(node, mask))


def _distance(node: EmptyNode, mask: int) -> float:
    chosen = bits(mask)
    distances = {cell.id: cell.distances for cell in node.cells}
    return sum(distances[one][other] for one in chosen for other in chosen) / len(chosen) ** 2
