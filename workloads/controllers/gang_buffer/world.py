"""The machines that gangs may run on: those that are there, those on their way, those to rent.

A machine on its way is a NodeClaim whose node is not initialized: Karpenter has asked for it, and
it has room for nobody but those that wait. It is counted with the shape of its pool.

Pods outside the queues, those of DaemonSets, are not read: there are thousands. Of each machine
that is there, as much is left out as the program counts for them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from workloads.api_server import ApiServer
from workloads.controllers.gang_buffer import place, shape
from workloads.controllers.gang_buffer.place import Need, Place
from workloads.controllers.gang_buffer.shape import GPU, Shape
from workloads.controllers.pool_domains.domain import HOSTNAME, POOL, takes_work

_ENDED = ("Succeeded", "Failed")
_KARPENTER = "/apis/karpenter.sh/v1"
_OWNER = "karpenter.sh/nodepool"


@dataclass(frozen=True, kw_only=True)
class World:
    """What of the machines is free now. A gang that gets some takes it, so that no two share it."""

    offers: Mapping[str, Sequence[Place]]
    """The machines that can be rented, by pool: one for each NodePool of it."""
    free: dict[str, list[Place]] = field(default_factory=dict)
    """The free part of each machine that is there or on its way, by pool."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """The host names of these machines, as Karpenter knows them, by pool."""
    rentable: dict[str, float] = field(default_factory=dict)
    """The GPUs that the limits of a pool's NodePools leave."""

    def lacks(
        self, pods: Sequence[Need], pools: Sequence[str]
    ) -> tuple[list[Need], dict[str, list[Place]]]:
        """Return the pods for which these pools have no room, and what the others leave free.

        Nothing is taken: a gang may get nothing, and those behind it have the room then.
        """
        left, after = list(pods), {}
        for pool in pools:
            left, after[pool] = place.placed(left, self.free.get(pool, []))
        return left, after

    def refusal(self, lacking: Sequence[Need], pools: Sequence[str]) -> str | None:
        """Return why no machine comes for the pods that lack one; None where enough may come.

        Those that may come are taken.
        """
        offers = {pool: self.offers[pool] for pool in pools if pool in self.offers}
        left, unmet = dict(self.rentable), list(lacking)
        for pool, sorts in offers.items():
            machine = sorts[0].room
            fitting = [pod for pod in unmet if any(_takes(each, pod) for each in sorts)]
            may = int(left.get(pool, 0) // machine.gpus)
            while fitting and _machines(fitting, machine) > may:
                fitting.pop()
            left[pool] = left.get(pool, 0) - _machines(fitting, machine) * machine.gpus
            unmet = _without(unmet, fitting)
        if not unmet:
            self.rentable.update(left)
            return None
        return self._why(unmet, offers)

    def _why(self, unmet: Sequence[Need], offers: Mapping[str, Sequence[Place]]) -> str:
        """Return why none comes for pods: of all that could be rented, or by the limits."""
        largest = max(unmet, key=lambda pod: pod.shape.gpus)
        sorts = [each for found in offers.values() for each in found]
        if not any(largest.shape.fits(each.room) for each in sorts):
            had = "; ".join(f"one of {pool} has {each[0].room}" for pool, each in offers.items())
            return f"A pod asks for {largest.shape}, which no machine to rent has: {had}."
        if not any(_takes(each, largest) for each in sorts):
            chosen = ", ".join(f"{key}={value}" for key, value in largest.selector.items())
            return (
                f"The node selector of a pod ({chosen or 'none'}) and its tolerations allow no "
                f"machine of {' and '.join(offers)} to rent."
            )
        more = sum(pod.shape.gpus for pod in unmet)
        return f"It lacks {more:g} GPUs more than the gpu_limits of {' and '.join(offers)} leave."


def world(
    api: ApiServer,
    pools: Sequence[str],
    machines: Mapping[str, Shape],
    daemons: Shape,
    pods: Callable[[], Iterable[Mapping[str, Any]]],
) -> World:
    """Return the machines of some pools, less what pods hold and what DaemonSets may.

    `machines` is what a pod may ask of a new machine of each rented pool.

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
    free: dict[str, list[Place]] = {pool: [] for pool in pools}
    names: dict[str, list[str]] = {pool: [] for pool in pools}
    coming = [each for each in claims if _comes(each)]
    booting = {each.get("status", {}).get("nodeName", "") for each in coming}
    for node in nodes:
        pool, name = node["metadata"]["labels"][POOL], node["metadata"]["name"]
        names[pool].append(node["metadata"]["labels"].get(HOSTNAME, name))
        if takes_work(node) and name not in booting:
            free[pool].append(place.of_node(node, daemons + held.get(name, Shape())))
    for claim in coming:
        pool = claim["metadata"]["labels"][POOL]
        if claim.get("status", {}).get("nodeName", "") not in there:
            names[pool].append(claim["metadata"]["name"])
        labels = claim["metadata"]["labels"]
        free[pool].append(place.of_template(labels, claim.get("spec") or {}, machines[pool]))
    offers = _offers(node_pools, machines)
    rentable = _rentable(node_pools, claims, machines)
    return World(offers=offers, free=free, names=names, rentable=rentable)


def _offers(
    node_pools: Sequence[Mapping[str, Any]], machines: Mapping[str, Shape]
) -> dict[str, list[Place]]:
    """Return what can be rented by pool; a pool whose NodePools are gone has a limit of 0."""
    found: dict[str, list[Place]] = {}
    for each in node_pools:
        template = each["spec"]["template"]
        labels = (template.get("metadata") or {}).get("labels") or {}
        if (pool := labels.get(POOL, "")) in machines:
            sort = place.of_template(labels, template.get("spec") or {}, machines[pool])
            found.setdefault(pool, []).append(sort)
    return {pool: found.get(pool) or [Place(room=room)] for pool, room in machines.items()}


def _rentable(
    node_pools: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    machines: Mapping[str, Shape],
) -> dict[str, float]:
    """Return the GPUs that the limits leave, by pool."""
    found: dict[str, float] = {}
    for each in node_pools:
        pool = each["spec"]["template"]["metadata"].get("labels", {}).get(POOL, "")
        if pool not in machines:
            continue
        name = each["metadata"]["name"]
        rented = sum(claim["metadata"]["labels"].get(_OWNER) == name for claim in claims)
        limit = shape.amount(each["spec"].get("limits", {}).get(GPU, 0))
        left = max(0.0, limit - rented * machines[pool].gpus)
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


def _takes(sort: Place, pod: Need) -> bool:
    return sort.admits(pod) and pod.shape.fits(sort.room)


def _machines(pods: Sequence[Need], machine: Shape) -> int:
    return shape.machines([pod.shape for pod in pods], machine)


def _without(pods: Sequence[Need], taken: Sequence[Need]) -> list[Need]:
    left = list(pods)
    for each in taken:
        left.remove(each)
    return left
