"""Whether the pools have room for what the charts' workloads ask for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from policies.language.manifest import at, quantity
from rehearsal.charts.placing import Place, may_run
from rehearsal.charts.workloads import Amount, pod_spec, replicas, requests

GIB = 1024**3


@dataclass(frozen=True, kw_only=True)
class PoolsRoom:
    """What charts ask for of pools, and what their Ready nodes have for pods.

    Counted are the pods that can run on nodes of no other pool; of Jobs none, for they end.
    """

    pools: tuple[str, ...]
    nodes: int
    pods: int
    cpu: float
    memory_gib: float
    cpu_allocatable: float
    memory_gib_allocatable: float

    @property
    def is_enough(self) -> bool:
        """Whether the nodes have as much."""
        return self.cpu <= self.cpu_allocatable and self.memory_gib <= self.memory_gib_allocatable

    @property
    def _pods(self) -> str:
        return "1 pod of charts asks" if self.pods == 1 else f"{self.pods} pods of charts ask"

    @property
    def sentence(self) -> str:
        """The same in words."""
        return (
            f"{', '.join(self.pools)}: {self._pods} for {self.cpu:g} of "
            f"{self.cpu_allocatable:g} CPUs and {self.memory_gib:g} of "
            f"{self.memory_gib_allocatable:g} GiB"
        )


@dataclass(frozen=True)
class _Pods:
    """Pods of one workload, and the pools that may run them."""

    pools: frozenset[str]
    number: int
    each: Amount


def room(workloads: Iterable[dict[str, Any]], nodes: Sequence[Place]) -> list[PoolsRoom]:
    """What each set of pools is asked for, the smallest sets first."""
    asked = [each for workload in workloads for each in _asked(workload, nodes)]
    sets = sorted({each.pools for each in asked}, key=lambda pools: (len(pools), sorted(pools)))
    return [_room(pools, asked, nodes) for pools in sets]


def homeless(workloads: Iterable[dict[str, Any]], nodes: Sequence[Place]) -> list[str]:
    """The workloads of which no Ready node may run a pod; a DaemonSet may have none."""
    return [
        f"{each['kind']} {at(each, 'metadata', 'name')}"
        for each in workloads
        if (spec := pod_spec(each)) is not None
        and (replicas(each) or 0) > 0
        and not any(may_run(spec, node) for node in nodes)
    ]


def _asked(workload: dict[str, Any], nodes: Sequence[Place]) -> Iterable[_Pods]:
    spec = pod_spec(workload)
    if spec is None:
        return
    each, number = requests(spec), replicas(workload)
    if number is None:
        homes = [node for node in nodes if may_run(spec, node, daemon=True)]
        for pool in sorted({node.pool for node in homes}):
            yield _Pods(frozenset({pool}), sum(node.pool == pool for node in homes), each)
        return
    pools = frozenset(node.pool for node in nodes if may_run(spec, node))
    if number and pools:
        yield _Pods(pools, number, each)


def _room(pools: frozenset[str], asked: Sequence[_Pods], nodes: Sequence[Place]) -> PoolsRoom:
    inside = [each for each in asked if each.pools <= pools]
    total = sum((each.each * each.number for each in inside), Amount())
    homes = [node for node in nodes if node.pool in pools]
    have = sum((_allocatable(node) for node in homes), Amount())
    return PoolsRoom(
        pools=tuple(sorted(pools)),
        nodes=len(homes),
        pods=sum(each.number for each in inside),
        cpu=_rounded(total.cpu),
        memory_gib=_rounded(total.memory / GIB),
        cpu_allocatable=_rounded(have.cpu),
        memory_gib_allocatable=_rounded(have.memory / GIB),
    )


def _allocatable(node: Place) -> Amount:
    return Amount(
        cpu=quantity(node.allocatable.get("cpu")) or Decimal(0),
        memory=quantity(node.allocatable.get("memory")) or Decimal(0),
    )


def _rounded(amount: Decimal) -> float:
    return round(float(amount), 2)
