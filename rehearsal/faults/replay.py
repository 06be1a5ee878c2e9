"""What the watch has seen after a fault, in its order: when what happened first, and to whom.

All functions look at the events alone, so that they say the same of any run of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rehearsal.faults.scene import Hit
from rehearsal.faults.work import Gang, Now, is_ready
from rehearsal.moves.watch import Kind, Seen
from settings.names import POOL_LABEL

KEEPS_AWAY = ("NoSchedule", "NoExecute")
OF_A_NEW_NODE = frozenset(
    {
        "karpenter.sh/unregistered",
        "node.cilium.io/agent-not-ready",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/network-unavailable",
        "nvidia.com/gpu",
    }
)
"""Taints that a machine joins with, or that its pool has."""
KINDS: tuple[Kind, ...] = ("Node", "Pod", "NodeClaim", "Gang")

Test = Callable[[Now], bool]


def states(seen: Sequence[Seen]) -> Iterator[tuple[float, Now]]:
    """Yield the objects after each event; the same dictionaries each time."""
    now: dict[Kind, dict[str, dict[str, Any]]] = {kind: {} for kind in KINDS}
    for each in seen:
        if each.kind not in now:
            continue
        if each.gone:
            now[each.kind].pop(each.key, None)
        else:
            now[each.kind][each.key] = each.found
        yield each.at_s, now


def at(seen: Sequence[Seen], at_s: float) -> Now:
    """Return the objects as they were at a time."""
    last: Now = {kind: {} for kind in KINDS}
    for _, now in states([each for each in seen if each.at_s <= at_s]):
        last = now
    return last


def milestones(seen: Sequence[Seen], began_s: float, hit: Hit) -> dict[str, float]:
    """Return when what happened first, in seconds of the watch; the gang's new start comes last."""
    before = at(seen, began_s)
    tests = dict(_tests(before, hit))
    found: dict[str, float] = {}
    for time_s, now in states(seen):
        if time_s <= began_s:
            continue
        for name, test in tests.items():
            if name not in found and test(now):
                found[name] = time_s
    stopped = hit.asks_s if hit.asks_s is not None else found.get("pods evicted")
    if hit.gang is not None and stopped is not None:
        ran = _runs_from(seen, stopped, hit.gang)
        found |= {"runs again": ran} if ran is not None else {}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _tests(before: Now, hit: Hit) -> Iterator[tuple[str, Test]]:
    taints = {node: keys(before["Node"].get(node, {})) for node in hit.nodes}
    claims = set(before["NodeClaim"])
    yield (
        "not ready",
        lambda now: any(node in now["Node"] and not is_ready(now["Node"][node]) for node in taints),
    )
    yield (
        "tainted",
        lambda now: any(keys(now["Node"].get(node, {})) - had for node, had in taints.items()),
    )
    yield "machine asked for", lambda now: bool(set(now["NodeClaim"]) - claims)
    gang = hit.gang
    if gang is None:
        return
    names = set(before["Node"])
    yield (
        "machine joined",
        lambda now: any(
            is_ready(node) and name not in names and _pool(node) == gang.job.pool
            for name, node in now["Node"].items()
        ),
    )
    pods = {pod["metadata"]["uid"] for pod in gang.pods(before)}
    restarts = gang.restarts(before)
    yield "pods evicted", lambda now: _evicted(now, gang, pods)
    yield "starts again", lambda now: gang.restarts(now) > restarts


def _evicted(now: Now, gang: Gang, pods: set[str]) -> bool:
    alive = {
        pod["metadata"]["uid"]
        for pod in gang.pods(now)
        if not pod["metadata"].get("deletionTimestamp") and pod["status"].get("phase") != "Failed"
    }
    return not pods <= alive


def _runs_from(seen: Sequence[Seen], after_s: float, gang: Gang) -> float | None:
    return next((at_s for at_s, now in states(seen) if at_s > after_s and gang.runs(now)), None)


def wrong_cordons(seen: Sequence[Seen], began_s: float, hit: Hit) -> tuple[str, ...]:
    """Return the nodes that were cordoned or tainted meanwhile though nothing was wrong with them.

    A node that has joined meanwhile has the taints of its beginning.
    """
    before = at(seen, began_s)
    found: dict[str, set[str]] = {}
    for each in seen:
        if each.kind != "Node" or each.gone or each.at_s <= began_s or each.key in hit.nodes:
            continue
        known = before["Node"].get(each.key)
        allowed = OF_A_NEW_NODE if known is None else keys(known)
        if odd := keys(each.found) - allowed:
            found.setdefault(each.key, set()).update(odd)
    return tuple(f"{node} ({', '.join(sorted(odd))})" for node, odd in sorted(found.items()))


def wrong_ends(
    seen: Sequence[Seen], began_s: float, gangs: Sequence[Gang], hit: Hit
) -> tuple[str, ...]:
    """Return the gangs that were started again though the fault took nothing from them."""
    before, last = at(seen, began_s), at(seen, float("inf"))
    concerned = {hit.gang.name} if hit.gang is not None and hit.may_restart else set()
    return tuple(
        gang.name
        for gang in gangs
        if gang.name not in concerned and gang.restarts(last) > gang.restarts(before)
    )


def keys(node: Mapping[str, Any]) -> frozenset[str]:
    """Return the taints of a node that keep pods away; a cordon is one, too."""
    spec = node.get("spec") or {}
    taints = spec.get("taints") or ()
    found = {each["key"] for each in taints if each["effect"] in KEEPS_AWAY}
    return frozenset(found | ({"cordoned"} if spec.get("unschedulable") else set()))


def _pool(node: Mapping[str, Any]) -> str:
    return str((node["metadata"].get("labels") or {}).get(POOL_LABEL, ""))
