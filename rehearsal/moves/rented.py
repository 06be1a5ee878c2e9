"""What Karpenter makes of a change: the rented machines that it replaces, and those that it keeps.

A NodeClaim whose class, image or NodePool is another one now is marked `Drifted` (karpenter
v1.14.1, pkg/controllers/nodeclaim/disruption/drift.go). Every ten seconds Karpenter looks which of
them it may replace, one after the other, and says in an event what forbids it: the budget of the
NodePool, or what holds the machine (pkg/controllers/disruption, controller.go, helpers.go, events).
A pod with karpenter.sh/do-not-disrupt or a PodDisruptionBudget holds no drifted machine that has a
terminationGracePeriod (types.go, NewCandidate); what Karpenter says of them then it says of idle
machines that it would save.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from rehearsal.api import Api
from rehearsal.errors import RehearsalError
from rehearsal.karpenter.instances import BOOT_S, REAL_BOOT_S, Instance
from rehearsal.machines import NODE_CLASSES, NODE_POOLS
from rehearsal.moves.capacity import Hours
from rehearsal.moves.machines import drift_of, is_emptied, node_of
from rehearsal.moves.result import REPLACED_S, Drifted
from rehearsal.moves.start import job_of
from rehearsal.moves.watch import Watch
from rehearsal.nodes import NODE_CLAIMS
from settings.names import POOL_LABEL

EVENTS = "/api/v1/events"
NODE_POOL_OF = "karpenter.sh/nodepool"
BLOCKED = "DisruptionBlocked"
OF_PODS = re.compile(r"(pod|pdb)\b", re.IGNORECASE)
"""How a message begins that is of a pod or a PodDisruptionBudget."""
MARKED_S = 90.0
"""So long Karpenter has to mark the machines of a class or NodePool that has changed."""
ENDED_S = 120.0
PAUSE_S = 0.5
RESERVED = "reserved"

Generations = Mapping[str, int]


def changed_since(before: Generations, now: Generations) -> set[str]:
    """Return the paths of those that are others now, or gone."""
    return {path for path, number in before.items() if now.get(path) != number}


def generations(api: Api) -> Generations:
    """Return the generation of each EC2NodeClass and NodePool, by path; another spec, another."""
    return {
        f"{path}/{each['metadata']['name']}": int(each["metadata"]["generation"])
        for path in (NODE_CLASSES, NODE_POOLS)
        for each in api.items(path)
    }


@dataclass(frozen=True, kw_only=True)
class Replacing:
    """Karpenter's work on the machines that were rented before the change.

    The change began and ended at seconds since the epoch, as the times of Karpenter's events are.
    """

    api: Api
    watch: Watch
    changed: Collection[str]
    """The paths of the EC2NodeClasses and NodePools that are others now."""
    began: float
    ended: float
    check: Callable[[], None]

    def wait(self) -> None:
        """Return when each machine that the change concerns is replaced or held by a budget."""
        self._await_marks()
        deadline = time.monotonic() + REPLACED_S
        while any(each for each in self.left() if not each.by_budget) or self._at_work():
            if time.monotonic() > deadline:
                return
            self.check()
            time.sleep(PAUSE_S)

    def left(self) -> list[Drifted]:
        """Return the machines that Karpenter has marked and not replaced, with its reasons."""
        nodes, pods = self.watch.latest("Node"), self.watch.latest("Pod")
        budgets, blocked = self._blocked("NodePool"), self._blocked("NodeClaim")
        found = []
        for key, claim in self.watch.latest("NodeClaim").items():
            reason, node = drift_of(claim), node_of(claim)
            if reason is None or "deletionTimestamp" in claim["metadata"]:
                continue
            pool = claim["metadata"]["labels"][NODE_POOL_OF]
            labels = nodes.get(node, {"metadata": {}})["metadata"].get("labels") or {}
            found.append(
                Drifted(
                    name=node or key,
                    pool=labels.get(POOL_LABEL, ""),
                    node_pool=pool,
                    reason=reason,
                    blocked=budgets.get(pool) or _of_drift(blocked.get(key, ""), claim),
                    by_budget=pool in budgets,
                    jobs=tuple(sorted({job_of(pod) for pod in pods.values() if _works(pod, node)})),
                )
            )
        return sorted(found, key=lambda each: each.name)

    def _await_marks(self) -> None:
        """Wait for the marks of the machines from before that the change concerns."""
        first = {each.key for each in self.watch.seen if each.kind == "NodeClaim" and each.first}
        deadline = time.monotonic() + MARKED_S
        while time.monotonic() < deadline:
            claims = self.watch.latest("NodeClaim")
            concerned = [claims[key] for key in first & claims.keys()]
            if all(_is_marked(each) or not _of(each) & {*self.changed} for each in concerned):
                return
            self.check()
            time.sleep(PAUSE_S)

    def _at_work(self) -> bool:
        """Return whether Karpenter empties or ends a machine just now."""
        emptied = [n for n in self.watch.latest("Node").values() if is_emptied(n)]
        claims = self.watch.latest("NodeClaim").values()
        return bool(emptied) or any("deletionTimestamp" in each["metadata"] for each in claims)

    def _blocked(self, kind: str) -> dict[str, str]:
        """Return what Karpenter has said since the change began, by names of this kind.

        Of NodePools only what it says of drift, and of one that has changed only since then. Each
        is said again after a minute or two, as long as it holds.
        """
        found = {}
        query = f"reason={BLOCKED},involvedObject.kind={kind}"
        for event in self.api.items(EVENTS, fieldSelector=query):
            name, message = str(event["involvedObject"]["name"]), str(event["message"])
            since = self.ended if f"{NODE_POOLS}/{name}" in self.changed else self.began
            at = str(event.get("lastTimestamp") or "")
            late = bool(at) and datetime.fromisoformat(at).timestamp() >= int(since)
            if late and (kind != "NodePool" or "Drifted" in message):
                found[name] = message
        return found


def give_back(api: Api, check: Callable[[], None]) -> None:
    """End every rented machine, so that the jobs of the rehearsal itself rent those of now."""
    for claim in api.items(NODE_CLAIMS):
        api.delete(f"{NODE_CLAIMS}/{claim['metadata']['name']}", dependents="Background")
    deadline = time.monotonic() + ENDED_S
    while api.items(NODE_CLAIMS):
        check()
        if time.monotonic() > deadline:
            left = ", ".join(sorted(each["metadata"]["name"] for each in api.items(NODE_CLAIMS)))
            raise RehearsalError(
                f"Karpenter does not end the machines rented for the jobs of before: {left}."
            )
        time.sleep(PAUSE_S)


def twice_rented(found: Sequence[Instance], began: float, ended: float) -> Hours:
    """Return the instances beyond the most that ran before or run after.

    Times are seconds since the epoch. A second in which one boots is as many as a real boot is
    longer. Reserved capacity is paid for anyway.
    """
    paid = [each for each in found if each.capacity != RESERVED]
    moments = {began, ended}
    for each in paid:
        moments |= {each.launched, each.launched + BOOT_S, each.ended or ended}
    times = sorted(at for at in moments if began <= at <= ended)
    before, after = _alive(paid, began), _alive(paid, ended)
    twice: defaultdict[tuple[str, str], float] = defaultdict(float)
    for at, till in pairwise(times):
        boots = any(each.launched <= at < each.launched + BOOT_S for each in paid)
        hours = (till - at) * (REAL_BOOT_S / BOOT_S if boots else 1) / 3600
        for key, number in _alive(paid, at).items():
            twice[key] += max(0, number - max(before[key], after[key])) * hours
    return twice


def _alive(found: Sequence[Instance], at: float) -> Counter[tuple[str, str]]:
    return Counter(
        (each.type, each.capacity)
        for each in found
        if each.launched <= at and (each.ended is None or at < each.ended)
    )


def _of(claim: Mapping[str, Any]) -> set[str]:
    """Return the paths of a NodeClaim's class and NodePool."""
    pool = claim["metadata"]["labels"][NODE_POOL_OF]
    return {f"{NODE_CLASSES}/{claim['spec']['nodeClassRef']['name']}", f"{NODE_POOLS}/{pool}"}


def _of_drift(message: str, claim: Mapping[str, Any]) -> str:
    """Return what was said of a machine, where it holds a drifted one."""
    ends_anyway = "terminationGracePeriod" in claim["spec"]
    return "" if ends_anyway and OF_PODS.match(message) else message


def _is_marked(claim: Mapping[str, Any]) -> bool:
    return drift_of(claim) is not None or "deletionTimestamp" in claim["metadata"]


def _works(pod: Mapping[str, Any], node: str) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    running = pod["spec"].get("nodeName") == node and pod["status"].get("phase") == "Running"
    return running and not any(each["kind"] in ("DaemonSet", "Node") for each in owners)
