"""How many GPUs what a pod asks for is: a whole one, an instance of MIG, or a share in turns.

A Node tells it: its machine has so many GPUs, and offers so many instances or shares of them.
Instances of several sizes count by the compute slices in their names (`3g.71gb` has three).
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hardware.catalogue import HardwareError, load
from policies.language.manifest import quantity
from settings.names import GPU, HARDWARE_LABEL

MIG = "nvidia.com/mig-"
SLICES = 7
"""The compute slices of a GPU with MIG, where its Node does not say how it is divided."""
_SLICES_OF = re.compile(r"(\d+)g\.")


def gpus_on(node: Mapping[str, Any]) -> Fraction:
    """Return the GPUs that a Node offers to pods."""
    offered = (node.get("status") or {}).get("allocatable") or {}
    return sum((_amount(offered[each]) * part(node, each) for each in offered), Fraction())


def gpus_of_pod(pod: Mapping[str, Any], node: Mapping[str, Any]) -> Fraction:
    """Return the GPUs that a pod has of its Node."""
    limits = [(each.get("resources") or {}).get("limits") or {} for each in _containers(pod)]
    parts = (_amount(found[each]) * part(node, each) for found in limits for each in found)
    return sum(parts, Fraction())


def part(node: Mapping[str, Any], resource: str) -> Fraction:
    """Return which part of a GPU one of a resource is on a Node; 0 for what is of no GPU."""
    status = node.get("status") or {}
    has = status.get("capacity") or status.get("allocatable") or {}
    gpus = _gpus_of_machine(node)
    if resource == GPU:
        offered = _amount(has.get(GPU, 0))
        return gpus / offered if 0 < gpus < offered else Fraction(1)
    if not resource.startswith(MIG):
        return Fraction()
    all_slices = sum((_amount(has[each]) * _slices(each) for each in has), Fraction())
    own = Fraction(_slices(resource))
    return own * gpus / all_slices if gpus and all_slices else own / SLICES


def _slices(resource: str) -> int:
    found = _SLICES_OF.match(resource.removeprefix(MIG)) if resource.startswith(MIG) else None
    return int(found[1]) if found else 0


def _gpus_of_machine(node: Mapping[str, Any]) -> Fraction:
    labels = (node.get("metadata") or {}).get("labels") or {}
    try:
        return Fraction(load(labels.get(HARDWARE_LABEL, "")).gpu_count)
    except HardwareError:
        return Fraction()


def _containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(pod["spec"].get("containers") or ())


def _amount(value: object) -> Fraction:
    return Fraction(quantity(value) or 0)
