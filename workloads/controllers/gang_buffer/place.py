"""Where a pod may run: the room, labels and taints of a machine, and what a pod says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workloads.controllers.gang_buffer import shape
from workloads.controllers.gang_buffer.shape import Shape
from workloads.controllers.pool_domains.domain import HOSTNAME

_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_KNOWN = ("kubernetes.io", "k8s.io", "karpenter.sh", "k8s.aws")
"""A machine to come gets labels of these domains, such as its zone, that nobody has written yet."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a pod asks of a machine."""

    shape: Shape
    selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, kw_only=True)
class Place:
    """A machine that is there, on its way, or to rent."""

    room: Shape
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values that each label has or may have."""
    taints: Sequence[Mapping[str, Any]] = ()
    is_there: bool = True
    """Whether it has all of its labels."""

    def admits(self, need: Need) -> bool:
        """Return whether node selector and tolerations allow a pod there."""
        return all(self._has(key, value) for key, value in need.selector.items()) and all(
            any(_tolerates(each, taint) for each in need.tolerations)
            for taint in self.taints
            if taint["effect"] in _KEEPS_AWAY
        )

    def _has(self, key: str, value: str) -> bool:
        if key in self.labels:
            return value in self.labels[key]
        domain = key.partition("/")[0]
        known = any(domain == each or domain.endswith(f".{each}") for each in _KNOWN)
        return known and not self.is_there and key != HOSTNAME


def of_pod(spec: Mapping[str, Any]) -> Need:
    """Return what a pod needs."""
    return Need(
        shape=shape.of_pod(spec),
        selector=spec.get("nodeSelector") or {},
        tolerations=spec.get("tolerations") or (),
    )


def of_node(node: Mapping[str, Any], held: Shape) -> Place:
    """Return a node less what is held there."""
    return Place(
        room=shape.of((node.get("status") or {}).get("allocatable") or {}) - held,
        labels=_single(node["metadata"].get("labels") or {}),
        taints=(node.get("spec") or {}).get("taints") or (),
    )


def of_template(labels: Mapping[str, str], spec: Mapping[str, Any], room: Shape) -> Place:
    """Return a machine to come, as a NodeClaim or the template of a NodePool describes it."""
    demanded = {
        each["key"]: each.get("values") or ()
        for each in spec.get("requirements") or ()
        if each["operator"] == "In"
    }
    return Place(
        room=room,
        labels={**demanded, **_single(labels)},
        taints=spec.get("taints") or (),
        is_there=False,
    )


def placed(needs: Sequence[Need], places: Sequence[Place]) -> tuple[list[Need], list[Place]]:
    """Return the pods for which there is no room, and the places with the others on them."""
    alike: dict[str, list[Need]] = {}
    for need in needs:
        alike.setdefault(repr(need), []).append(need)
    left, after = [], list(places)
    for kind in sorted(alike.values(), key=lambda each: -each[0].shape.gpus):
        waiting, need = len(kind), kind[0]
        numbers = [number for number, place in enumerate(after) if place.admits(need)]
        for number in sorted(numbers, key=lambda each: after[each].room.gpus):
            room = after[number].room
            while waiting and need.shape.fits(room):
                room, waiting = room - need.shape, waiting - 1
            after[number] = replace(after[number], room=room)
        left += kind[:waiting]
    return left, after


def _single(labels: Mapping[str, str]) -> dict[str, Sequence[str]]:
    return {key: (value,) for key, value in labels.items()}


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    key, effect = toleration.get("key", ""), toleration.get("effect", "")
    return (
        key in ("", taint["key"])
        and effect in ("", taint["effect"])
        and (
            toleration.get("operator") == "Exists"
            or (toleration.get("value") or "") == (taint.get("value") or "")
        )
    )
