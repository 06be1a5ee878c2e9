"""Picks the CPUs that the static CPU manager takes with `distribute-cpus-across-numa`.

After takeByTopologyNUMADistributed in pkg/kubelet/cm/cpumanager/cpu_assignment.go of Kubernetes
1.36, whose quirks are kept: a pod stands or falls with them.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ignition.shapes.cpu_picker import Accumulator, TakeError, packed
from ignition.shapes.node import EmptyNode


class EndlessError(ValueError):
    """Kubelet 1.36 would go round for ever: no NUMA node of its choice has a core left."""


class Slice(Collection[int]):
    """A slice of Go: `append` writes into the array that it shares, as long as there is room.

    Kubelet keeps such slices of the combinations that it goes through, and later combinations write
    into them. From four NUMA nodes on it may so take another set than the one that it judged best.
    """

    def __init__(self, array: list[int], length: int) -> None:
        """The first `length` items of an array."""
        self._array = array
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        return iter(self._array[: self._length])

    def __contains__(self, item: object) -> bool:
        return item in self._array[: self._length]

    def append(self, item: int) -> "Slice":
        """The slice with one more item, in an array of twice the size when this one is full."""
        array = self._array
        if self._length == len(array):
            array = array + [0] * max(1, len(array))
        array[self._length] = item
        return Slice(array, self._length + 1)


def combinations(items: Sequence[int], size: int) -> Iterator[Slice]:
    """Every choice of `size` items, in ascending order, as kubelet walks through them."""

    def walk(left: int, start: int, chosen: Slice) -> Iterator[Slice]:
        if left == 0:
            yield chosen
            return
        for i in range(start, len(items) - left + 1):
            yield from walk(left - 1, i + 1, chosen.append(items[i]))

    if size > 0:
        yield from walk(size, 0, Slice([], 0))


@dataclass(frozen=True)
class _Choice:
    """NUMA nodes that share the CPUs evenly, those that give the odd ones, how uneven it ends."""

    nodes: Collection[int]
    remainder: Collection[int]
    balance: float


def distributed(node: EmptyNode, free: frozenset[int], wanted: int, group: int) -> frozenset[int]:
    """An even share from each of the fewest NUMA nodes that can give it, in groups of CPUs.

    TakeError when there are too few CPUs; EndlessError where kubelet would not return.
    """
    if wanted % group:
        return packed(node, free, wanted)
    if wanted < 1:
        return frozenset()
    left = Accumulator(node, free, wanted)
    free_in = left.free_in_numa_nodes()
    available = {numa: len(free_in[numa]) for numa in left.numa_nodes()}
    least, most = _range(node, len(available), wanted, group)
    for size in range(least, most + 1):
        choice = _best(available, size, wanted, group)
        if choice is not None:
            return _take(left, choice, wanted, group)
    return packed(node, free, wanted)


def _range(node: EmptyNode, available: int, wanted: int, group: int) -> tuple[int, int]:
    """The smallest and largest number of NUMA nodes that the CPUs can come from."""
    groups = -(-len(node.numa_of) // group)
    groups_per_node = -(-groups // len(node.cpus_of))
    needed = -(-wanted // group)
    return -(-needed // groups_per_node), min(needed, available)


def _best(available: Mapping[int, int], size: int, wanted: int, group: int) -> _Choice | None:
    best: _Choice | None = None
    for nodes in combinations(list(available), size):
        if best is not None and best.balance == 0:
            break
        choice = _judge(available, nodes, wanted, group)
        if choice is not None and (best is None or choice.balance < best.balance):
            best = choice
    return best


def _judge(available: Mapping[int, int], nodes: Slice, wanted: int, group: int) -> _Choice | None:
    """Rate how evenly these NUMA nodes would be used; None where they cannot share evenly."""
    share = wanted // len(nodes) // group * group
    if (
        sum(available[numa] for numa in nodes) < wanted
        or sum(available[numa] // group for numa in nodes) * group < wanted
        or any(available[numa] < share for numa in nodes)
    ):
        return None
    after = {numa: count - share * (numa in nodes) for numa, count in available.items()}
    rest = wanted - share * len(nodes)
    if rest == 0:
        return _Choice(nodes, (), _deviation(after))
    givers = [numa for numa in nodes if after[numa] >= group]
    best: _Choice | None = None
    for size in range(len(givers), 0, -1):
        for subset in combinations(givers, size):
            if sum(after[numa] for numa in subset) < rest:
                continue
            balance = _deviation(_after_rest(after, subset, rest, group))
            if best is None or balance < best.balance:
                best = _Choice(nodes, subset, balance)
    return best


def _after_rest(
    after: Mapping[int, int], subset: Collection[int], rest: int, group: int
) -> dict[int, int]:
    """The CPUs left on each NUMA node after those of the subset gave the odd groups in turn."""
    left = dict(after)
    while rest > 0:
        giving = [numa for numa in subset if left[numa] >= group]
        if not giving:
            raise EndlessError("distribute-cpus-across-numa finds no core for the odd CPUs")
        for numa in giving[: -(-rest // group)]:
            left[numa] -= group
            rest -= group
    return left


def _take(left: Accumulator, choice: _Choice, wanted: int, group: int) -> frozenset[int]:
    share = wanted // len(choice.nodes) // group * group
    for numa in choice.nodes:
        _give(left, numa, share)
    rest = wanted - share * len(choice.nodes)
    while rest > 0:
        before = rest
        for numa in choice.remainder:
            if rest and len(left.free_in_numa_nodes().get(numa, ())) >= group:
                _give(left, numa, group)
                rest -= group
        if rest == before:
            raise EndlessError("distribute-cpus-across-numa finds no core for the odd CPUs")
    if left.needed:
        raise TakeError(f"accounting error, not enough CPUs allocated, remaining: {left.needed}")
    return left.taken


def _give(left: Accumulator, numa: int, count: int) -> None:
    """Takes CPUs of a NUMA node; none when it has too few, which kubelet does not notice here."""
    free = left.free_in_numa_nodes().get(numa, frozenset())
    if len(free) >= count:
        left.take(packed(left.node, free, count))


def _deviation(left: Mapping[int, int]) -> float:
    """The standard deviation as kubelet rounds it, to three digits twice."""
    counts = list(left.values())
    mean = _rounded(sum(counts) / len(counts))
    return _rounded(math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts)))


def _rounded(value: float) -> float:
    return math.floor(value * 1000 + 0.5) / 1000
