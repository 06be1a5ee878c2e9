"""Which pods Karpenter leaves alone: karpenter.sh/do-not-disrupt is `true`, or for how long.

A duration counts from the start of the pod (`status.startTime`); once the pod has run for so long,
and where the value is neither, Karpenter takes it as any other (karpenter v1.14.1,
pkg/utils/pod/scheduling.go, IsDoNotDisruptActive). Every pod of the twin is new, so a job is made
with what the annotation means at its taken age.
"""

from collections.abc import Mapping
from typing import Any

from ignition.boot.kubelet_schema import SECOND, duration

STAYS = "karpenter.sh/do-not-disrupt"
FOREVER = "true"


def is_left_alone(value: object, hours: float) -> bool:
    """Return whether the annotation's value protects a pod that has run for so many hours."""
    if value == FOREVER:
        return True
    told = duration(value)
    return told is not None and told > 0 and hours * 3600 * SECOND < told


def at_age(manifest: Mapping[str, Any], hours: float) -> dict[str, Any]:
    """Return a Job, a Job of Volcano or a pod, with the annotation as it is after so many hours."""
    found, spec = _aged(manifest, hours), dict(manifest["spec"])
    if "template" in spec:
        spec["template"] = _aged(spec["template"], hours)
    if "tasks" in spec:
        spec["tasks"] = [
            {**each, "template": _aged(each["template"], hours)} for each in spec["tasks"]
        ]
    return {**found, "spec": spec}


def _aged(found: Mapping[str, Any], hours: float) -> dict[str, Any]:
    metadata = dict(found.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    if STAYS not in annotations:
        return dict(found)
    value = annotations.pop(STAYS)
    kept = {STAYS: FOREVER} if is_left_alone(value, hours) else {}
    return {**found, "metadata": {**metadata, "annotations": {**annotations, **kept}}}
