"""The machines that gangs may run on: those that are there, those on their way, those to rent.

A machine on its way is a NodeClaim whose node is not initialized: Karpenter has asked for it, and
it has room for nobody but those that wait. It is counted with the shape of its pool.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from workloads.api_server import ApiServer
from workloads.controllers.gang_buffer import shape
from workloads.controllers.gang_buffer.shape import GPU, Shape
from workloads.controllers.pool_domains.domain import HOSTNAME, POOL, takes_work

_ENDED = ("Succeeded", "Failed")
_KARPENTER = "/apis/karpenter.sh/v1"
_OWNER = "karpenter.sh/nodepool"


@dataclass(frozen=True, kw_only=True)
class World:
    """What of the machines is free now; asking `lacks` takes it, so that no two gangs share it.

    `offers` are the machines that can be rented, by pool.
    """

    offers: Mapping[str, Shape]
    free: Mapping[str, list[Shape]] = field(default_factory=dict)
    """The free part of each machine that is there or on its way, by pool."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """The host names of these machines, as Karpenter knows them, by pool."""
    rentable: dict[str, float] = field(default_factory=dict)
    """The GPUs that the limits of a pool's NodePools leave."""

    def lacks(self, pods: Sequence[Shape], pools: Sequence[str]) -> list[Shape]:
        """Return the pods for which these pools have no room, and take the room of the others."""
        left = list(pods)
        for pool in pools:
            left = shape.placed(left, self.free.get(pool, []))
        return left

    def refusal(self, lacking: Sequence[Shape], pools: Sequence[str]) -> str | None:
        """Return why no machine comes for the pods that lack one; None where enough may come.

        Those that may come are taken.
        """
        offers = {pool: self.offers[pool] for pool in pools if pool in self.offers}
        left = dict(self.rentable)
        for pool, machine in offers.items():
            fitting = [pod for pod in lacking if pod.fits(machine)]
            may = int(left.get(pool, 0) // machine.gpus)
            while fitting and shape.machines(fitting, machine) > may:
                fitting.pop()
            left[pool] = left.get(pool, 0) - shape.machines(fitting, machine) * machine.gpus
            lacking = _without(lacking, fitting)
        if not lacking:
            self.rentable.update(left)
            return None
        largest = max(lacking, key=lambda pod: pod.gpus)
        if not any(largest.fits(machine) for machine in offers.values()):
            had = "; ".join(f"one of {pool} has {machine}" for pool, machine in offers.items())
            return f"A pod asks for {largest}, which no machine to rent has: {had}."
        more = sum(pod.gpus for pod in lacking)
        return f"It lacks {more:g} GPUs more than the gpu_limits of {' and '.join(offers)} leave."


def world(
    api: ApiServer,
    pools: Sequence[str],
    offers: Mapping[str, Shape],
    pods: Callable[[], Iterable[Mapping[str, Any]]],
) -> World:
    """Return the machines of some pools, less what pods hold.

    The pods are those by which gangs are judged, too, and read after the machines: a gang that
    starts meanwhile is then seen either with its machines or without, never as one that lacks them.
    """
    query = f"labelSelector={quote(f'{POOL} in ')}({quote(','.join(pools))})"
    # in this order: a machine that boots meanwhile counts as one on its way, not as none
    claims = api.request("GET", f"{_KARPENTER}/nodeclaims?{query}").get("items") or ()
    nodes = api.request("GET", f"/api/v1/nodes?{query}").get("items") or ()
    node_pools = api.request("GET", f"{_KARPENTER}/nodepools").get("items") or ()
    held = _held(pods())
    there = {each["metadata"]["name"] for each in nodes}
    free: dict[str, list[Shape]] = {pool: [] for pool in pools}
    names: dict[str, list[str]] = {pool: [] for pool in pools}
    coming = [each for each in claims if _comes(each)]
    booting = {each.get("status", {}).get("nodeName", "") for each in coming}
    for node in nodes:
        pool, name = node["metadata"]["labels"][POOL], node["metadata"]["name"]
        names[pool].append(node["metadata"]["labels"].get(HOSTNAME, name))
        if takes_work(node) and name not in booting:
            has = shape.of(node.get("status", {}).get("allocatable") or {})
            free[pool].append(has - held.get(name, Shape()))
    for claim in coming:
        pool = claim["metadata"]["labels"][POOL]
        if claim.get("status", {}).get("nodeName", "") not in there:
            names[pool].append(claim["metadata"]["name"])
        free[pool].append(offers[pool])
    rentable = _rentable(node_pools, claims, offers)
    return World(offers=offers, free=free, names=names, rentable=rentable)


def _rentable(
    node_pools: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    offers: Mapping[str, Shape],
) -> dict[str, float]:
    """Return the GPUs that the limits leave, by pool."""
    found: dict[str, float] = {}
    for each in node_pools:
        pool = each["spec"]["template"]["metadata"].get("labels", {}).get(POOL, "")
        if pool not in offers:
            continue
        name = each["metadata"]["name"]
        rented = sum(claim["metadata"]["labels"].get(_OWNER) == name for claim in claims)
        limit = shape.amount(each["spec"].get("limits", {}).get(GPU, 0))
        left = max(0.0, limit - rented * offers[pool].gpus)
        found[pool] = found.get(pool, 0.0) + left
    return found


def _held(pods: Iterable[Mapping[str, Any]]) -> dict[str, Shape]:
    """Return what pods hold, by node."""
    held: dict[str, Shape] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and (pod.get("status") or {}).get("phase") not in _ENDED:
            held[node] = held.get(node, Shape()) + shape.of_pod(pod["spec"])
    return held


def _comes(claim: Mapping[str, Any]) -> bool:
    conditions = (claim.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Initialized" and each["status"] == "True" for each in conditions)
    return not ready and "deletionTimestamp" not in claim["metadata"]


def _without(pods: Sequence[Shape], taken: Sequence[Shape]) -> list[Shape]:
    left = list(pods)
    for each in taken:
        left.remove(each)
    return left
