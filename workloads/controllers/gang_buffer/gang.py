"""A gang as its PodGroup and its pods show it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from workloads.controllers.gang_buffer import place
from workloads.controllers.gang_buffer.place import Need

GROUP = "scheduling.k8s.io/group-name"
SAYS = "fleet.gpu/gang-buffer"
SINCE = "fleet.gpu/gang-buffer-since"


@dataclass(frozen=True, kw_only=True)
class Gang:
    """A PodGroup, and the pods that name it."""

    group: Mapping[str, Any]
    pods: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        """The name of the PodGroup."""
        return str(self.group["metadata"]["name"])

    @property
    def says(self) -> str:
        """What it was told last."""
        return str((self.group["metadata"].get("annotations") or {}).get(SAYS, ""))

    @property
    def since(self) -> datetime | None:
        """When machines were first asked for it; None for what is no time, as anybody may write."""
        text = (self.group["metadata"].get("annotations") or {}).get(SINCE, "")
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            return None
        return found if found.tzinfo else None

    @cached_property
    def lacking(self) -> list[Mapping[str, Any]]:
        """The pods without a node that it cannot start without, once Volcano has tried them all."""
        alive = [each for each in self.pods if _counts(each)]
        waiting = [each for each in alive if not each["spec"].get("nodeName")]
        least = int(self.group["spec"].get("minMember", 1))
        needed = least - (len(alive) - len(waiting))
        if len(waiting) < needed or not any(map(_tried, waiting)):
            return []
        return sorted(waiting, key=lambda each: str(each["metadata"]["name"]))[: max(0, needed)]

    @property
    def needs(self) -> list[Need]:
        """What each of those needs."""
        return [place.of_pod(each["spec"]) for each in self.lacking]

    @property
    def tried_since(self) -> datetime | None:
        """When Volcano had tried all of those; None where a pod does not say."""
        times = [
            str(each.get("lastTransitionTime") or "")
            for pod in self.lacking
            for each in _tried(pod)
        ]
        return datetime.fromisoformat(max(times)) if times and all(times) else None


def may_wait(group: Mapping[str, Any]) -> bool:
    """Return whether a PodGroup may be one that waits, so that its pods matter.

    By Volcano's counts, not by the phase, which is Running or Completed also where members that
    failed make up the number.
    """
    status = group.get("status") or {}
    has = int(status.get("running") or 0) + int(status.get("succeeded") or 0)
    return has < int(group["spec"].get("minMember", 1))


def gangs(groups: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]) -> list[Gang]:
    """Return the gangs of a namespace, the oldest first."""
    of_group: dict[str, list[Mapping[str, Any]]] = {}
    for pod in pods:
        name = (pod["metadata"].get("annotations") or {}).get(GROUP, "")
        of_group.setdefault(name, []).append(pod)
    return sorted(
        (Gang(group=each, pods=of_group.get(each["metadata"]["name"], [])) for each in groups),
        key=lambda gang: (str(gang.group["metadata"]["creationTimestamp"]), gang.name),
    )


def _counts(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod is a member; Volcano counts one that succeeded, but none that failed."""
    failed = (pod.get("status") or {}).get("phase") == "Failed"
    return not failed and "deletionTimestamp" not in pod["metadata"]


def _tried(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the condition by which Volcano says that it has tried a pod."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return [
        each
        for each in conditions
        if each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable"
    ]
