"""What happened to the machines, from what the watch has seen of Nodes and BareMetalHosts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.moves.result import Due, MachineMove, What
from rehearsal.moves.watch import Seen
from rehearsal.nodes import RequestedMachine
from settings import BareMetalPoolSettings, Settings
from settings.names import POOL_LABEL

SCHEME = "metal3://"
DISRUPTED = "karpenter.sh/disrupted"
"""The taint by which Karpenter keeps new pods from a machine that it empties."""
SIMULATED = "kwok.x-k8s.io/node"
"""The annotation by which kwok plays a kubelet; the machine loop takes it off a Node whose machine
is off."""


@dataclass
class _Node:
    """A Node as it was seen last."""

    provider_id: str
    cordoned: bool
    on: bool
    there: bool = True
    went_down: bool = False


@dataclass
class _Host:
    """A BareMetalHost as it was seen last."""

    installed: bool
    powered: bool
    was_wiped: bool = False


def machine_moves(seen: Sequence[Seen]) -> tuple[MachineMove, ...]:
    """Return what happened to the machines, in its order."""
    found = [*_of_hosts(seen), *_of_nodes(seen)]
    of_hosts = {move.name for move in found if move.what == "reinstalled"}
    told = [move for move in found if move.what != "rebooted" or move.name not in of_hosts]
    once = {(move.name, move.what, round(move.at_s)): move for move in told}
    return tuple(sorted(once.values(), key=lambda move: move.at_s))


def replaced_gateways(
    before: Mapping[str, str], after: Mapping[str, str], times: Mapping[str, float], ends_s: float
) -> Iterator[MachineMove]:
    """Yield the servers outside the cluster that are others now; both are ids by name.

    `times` is when each has changed; one that nobody saw change did at the end.
    """
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            what: What = "new" if old is None else "gone" if new is None else "replaced"
            yield MachineMove(name=name, pool="", what=what, at_s=times.get(name, ends_s))


def due_machines(
    before: Sequence[RequestedMachine],
    after: Sequence[RequestedMachine],
    installed: Mapping[str, str],
    settings: Settings,
) -> tuple[Due, ...]:
    """Return the machines of one's own that go on with boot data or an image of before.

    `before` and `after` are the machines with their boot data as the program has written it,
    `installed` has the images that Metal3 has installed, by machine.
    """
    known = {machine.provider_id: machine.ignition for machine in before}
    changed = {
        machine.name
        for machine in after
        if machine.provider_id.startswith(SCHEME)
        and known.get(machine.provider_id, machine.ignition) != machine.ignition
    }
    found = []
    for pool in settings.pools.values():
        if isinstance(pool.declared, BareMetalPoolSettings):
            url = pool.declared.image.url
            staying = [each.name for each in pool.declared.machines if each.leaving is None]
            names = [n for n in staying if n in changed or installed.get(n, url) != url]
            if names:
                found.append(Due(pool=pool.title, machines=tuple(names)))
    return tuple(found)


def installed_images(hosts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the URL of the image on each machine that Metal3 has installed."""
    return {
        host["metadata"]["name"]: url
        for host in hosts
        if (url := (_provisioning(host).get("image") or {}).get("url"))
    }


def _of_nodes(seen: Sequence[Seen]) -> Iterator[MachineMove]:
    nodes: dict[str, _Node] = {}
    pools: dict[str, str] = {}
    for each in (one for one in seen if one.kind == "Node"):
        labels = each.found["metadata"].get("labels") or {}
        pools[each.key] = labels.get(POOL_LABEL, pools.get(each.key, ""))
        whats = _change(nodes, each) if not each.first else _first(nodes, each)
        for what in whats:
            yield MachineMove(
                name=each.key, pool=pools[each.key], what=what, at_s=round(each.at_s, 1)
            )
    last = {one.key: one for one in seen if one.kind == "Node" and one.gone}
    drifted = {node_of(claim) for claim in drifted_claims(seen)}
    for name, node in nodes.items():
        if not node.there:
            at_s = round(last[name].at_s, 1)
            end: What = "replaced" if name in drifted else "gone"
            yield MachineMove(name=name, pool=pools[name], what=end, at_s=at_s)


def drifted_claims(seen: Sequence[Seen]) -> Iterator[Mapping[str, Any]]:
    """Yield the NodeClaims that Karpenter has marked, each as it was marked."""
    for each in seen:
        if each.kind == "NodeClaim" and drift_of(each.found) is not None:
            yield each.found


def drift_of(claim: Mapping[str, Any]) -> str | None:
    """Return why Karpenter has marked a NodeClaim as one of before; None where it has not."""
    conditions = (claim.get("status") or {}).get("conditions") or []
    found = (each for each in conditions if each["type"] == "Drifted" and each["status"] == "True")
    return next((str(each.get("reason", "")) for each in found), None)


def node_of(claim: Mapping[str, Any]) -> str:
    """Return the name of a NodeClaim's Node; empty before it has registered."""
    return str((claim.get("status") or {}).get("nodeName") or "")


def _first(nodes: dict[str, _Node], each: Seen) -> list[What]:
    nodes[each.key] = _state(each)
    return []


def _change(nodes: dict[str, _Node], each: Seen) -> list[What]:
    """Take one event of a Node; return what it tells."""
    before, now = nodes.get(each.key), _state(each)
    if each.gone:
        if before:
            before.there = False
        return []
    nodes[each.key] = now
    if before is None:
        return ["new"]
    if before.provider_id != now.provider_id:
        return ["replaced"]
    now.went_down = (before.went_down or before.on) and not now.on
    told: list[What] = ["drained"] if now.cordoned and not before.cordoned else []
    return [*told, "rebooted"] if now.on and before.went_down else told


def _state(each: Seen) -> _Node:
    spec = each.found["spec"]
    return _Node(
        provider_id=spec.get("providerID", ""),
        cordoned=not takes_pods(each.found),
        on=is_on(each.found),
    )


def is_on(node: Mapping[str, Any]) -> bool:
    """Return whether the machine of a Node runs; a busy API server alone makes it not Ready."""
    return SIMULATED in (node["metadata"].get("annotations") or {})


def takes_pods(node: Mapping[str, Any]) -> bool:
    """Return whether a Node is neither cordoned nor being emptied by Karpenter."""
    return not is_emptied(node) and not node["spec"].get("unschedulable")


def is_emptied(node: Mapping[str, Any]) -> bool:
    """Return whether Karpenter empties the machine of a Node."""
    return any(taint["key"] == DISRUPTED for taint in node["spec"].get("taints") or ())


def is_ready(status: Mapping[str, Any]) -> bool:
    """Return whether the status of a Node says that it is Ready."""
    conditions = status.get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _of_hosts(seen: Sequence[Seen]) -> Iterator[MachineMove]:
    hosts: dict[str, _Host] = {}
    for each in (one for one in seen if one.kind == "BareMetalHost" and not one.gone):
        metadata, before = each.found["metadata"], hosts.get(each.key)
        status = each.found.get("status") or {}
        now = _Host(
            installed=_provisioning(each.found).get("state") == "provisioned",
            powered=bool(status.get("poweredOn")),
        )
        hosts[each.key] = now
        if before is None:
            continue
        now.was_wiped = before.was_wiped or (before.installed and not now.installed)
        what = _of_host(before, now)
        if what:
            pool = (metadata.get("labels") or {}).get(POOL_LABEL, "")
            now.was_wiped = False
            yield MachineMove(name=metadata["name"], pool=pool, what=what, at_s=round(each.at_s, 1))


def _of_host(before: _Host, now: _Host) -> What | None:
    if now.installed and now.was_wiped:
        return "reinstalled"
    on_again = now.powered and not before.powered
    return "rebooted" if before.installed and now.installed and on_again else None


def _provisioning(host: Mapping[str, Any]) -> Mapping[str, Any]:
    return (host.get("status") or {}).get("provisioning") or {}
