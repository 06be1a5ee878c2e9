"""Which gangs are kept out of a queue by their own pods, and how they come in.

Before Volcano 1.14.1 lets a gang start, it adds what the gang needs to what the namespace's quota
has as used (pkg/scheduler/plugins/resourcequota/resourcequota.go). Pods that exist are in there
already, whether they run or wait: a gang whose own pods exist is counted twice, and with more than
half of the quota it would wait for ever (volcano-sh/volcano issue 4220). That is so for every pod
that no Volcano Job makes, and for a Job that starts anew: its controller reads the PodGroup from a
cache that lags, and may make the pods while the new PodGroup is not let in (syncJob in
pkg/controllers/job/job_controller_actions.go).

The API server itself holds the quota when it takes a pod. So a gang that has all its pods is within
it, and one that has a part of them is if the quota has room for the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workloads.api_server import ApiServer, ApiServerError
from workloads.controllers.gang_buffer.shape import amount

MANAGER = "fleet-queue-entry"
QUOTA = "gpus"
"""The name of the quota in the namespace of a queue."""
_GROUP = "scheduling.k8s.io/group-name"
_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"
_OUTSIDE = ("", "Pending")
_INSIDE = "Inqueue"
_ENDED = ("Succeeded", "Failed")
_CONFLICT = 409


@dataclass(frozen=True, kw_only=True)
class Gang:
    """A PodGroup, and those of its pods that hold a part of the quota."""

    group: Mapping[str, Any]
    pods: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        """The name of the PodGroup."""
        return str(self.group["metadata"]["name"])

    @property
    def phase(self) -> str:
        """What Volcano says of it; empty while it is new."""
        return str((self.group.get("status") or {}).get("phase") or "")

    @property
    def may_be_kept_out_by_itself(self) -> bool:
        """Whether it waits before its queue, with pods."""
        return self.phase in _OUTSIDE and bool(self.pods)

    @property
    def is_whole(self) -> bool:
        """Whether it has all the pods without which it cannot start."""
        return len(self.pods) >= int(self.group["spec"].get("minMember", 1))

    def lacks(self, resource: str) -> float:
        """Return how much of the quota its pods need that do not exist yet."""
        if self.is_whole:
            return 0.0
        least = self.group["spec"].get("minResources") or {}
        bare = resource.removeprefix("requests.")  # so KubeRay and the operators of MPI write it
        wanted = amount(least.get(resource, least.get(bare, 0)))
        return max(0.0, wanted - sum(_asked(pod, resource) for pod in self.pods))


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The way into one queue."""

    api: ApiServer
    queue: str

    def let_in(self) -> list[str]:
        """Let in the gangs that are within the quota; return a sentence for each.

        Raises ApiServerError; then the others wait for the next pass.
        """
        groups = self._list(_GROUPS.format(self.queue))
        if all((each.get("status") or {}).get("phase") not in (None, *_OUTSIDE) for each in groups):
            return []
        # the quota last: what is made meanwhile is counted at worst twice
        gangs = _gangs(groups, self._list(f"/api/v1/namespaces/{self.queue}/pods"))
        path = f"/api/v1/namespaces/{self.queue}/resourcequotas/{QUOTA}"
        entering = within(gangs, self.api.request("GET", path).get("status") or {})
        return [said for gang in entering if (said := self._enter(gang))]

    def _enter(self, gang: Gang) -> str | None:
        """Let a gang in; None where it has changed meanwhile."""
        version = gang.group["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "status": {"phase": _INSIDE}}
        path = f"{_GROUPS.format(self.queue)}/{gang.name}?fieldManager={MANAGER}"
        try:
            self.api.request("PATCH", path, patch, "application/merge-patch+json")
        except ApiServerError as error:
            if error.status == _CONFLICT:
                return None
            raise
        least = gang.group["spec"].get("minMember", 1)
        return f"Queue {self.queue}: {gang.name} is let in, {len(gang.pods)} of {least} pods exist."

    def _list(self, path: str) -> list[Mapping[str, Any]]:
        return list(self.api.request("GET", path).get("items") or ())


def within(gangs: Sequence[Gang], quota: Mapping[str, Any]) -> list[Gang]:
    """Return the gangs to let in, given the status of the quota; the oldest come first.

    What those that are in still lack is theirs.
    """
    used, hard = quota.get("used") or {}, quota.get("hard") or {}
    room = {name: amount(most) - amount(used.get(name, 0)) for name, most in hard.items()}
    entering = []
    for gang in sorted(gangs, key=lambda each: each.phase != _INSIDE):
        lacked = {name: gang.lacks(name) for name in room}
        waits = gang.may_be_kept_out_by_itself
        fits = gang.is_whole or all(lacked[name] <= room[name] for name in room)
        if gang.phase == _INSIDE or (waits and fits):
            room = {name: left - lacked[name] for name, left in room.items()}
        if waits and fits:
            entering.append(gang)
    return entering


def _gangs(groups: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]) -> list[Gang]:
    """Return the gangs of a namespace, the oldest first."""
    of_group: dict[str, list[Mapping[str, Any]]] = {}
    for pod in pods:
        if "deletionTimestamp" in pod["metadata"] or pod["status"].get("phase") in _ENDED:
            continue
        name = (pod["metadata"].get("annotations") or {}).get(_GROUP, "")
        of_group.setdefault(name, []).append(pod)
    return sorted(
        (Gang(group=each, pods=of_group.get(each["metadata"]["name"], [])) for each in groups),
        key=lambda gang: (str(gang.group["metadata"]["creationTimestamp"]), gang.name),
    )


def _asked(pod: Mapping[str, Any], resource: str) -> float:
    """Return what the quota counts of a pod at least; Volcano writes the same names."""
    name = resource.removeprefix("requests.")
    containers = pod["spec"]["containers"]
    return sum(
        amount(((each.get("resources") or {}).get("requests") or {}).get(name, 0))
        for each in containers
    )
