"""Reads the annotations `fleet.gpu/<name>` of objects, in Python and in CEL."""

import re
from datetime import date

from policies.language.gpu_work import COUNT_PATTERN
from policies.language.manifest import at
from policies.language.rule import Manifest, Settings
from settings.names import PREFIX

CHECKPOINT = f"{PREFIX}/checkpoint-seconds"
"""Of a pod: how many seconds its checkpoint takes when the pod is ended."""
FRACTION = f"{PREFIX}/gpu-fraction"
"""Of a pod: the part of each GPU that it uses, such as 0.25."""
LIFETIME = f"{PREFIX}/time-to-live-hours"
"""Of a notebook: the hours after which its hub or operator deletes it."""
_DAY = re.compile(r"20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
DAY_PATTERN = f"^{_DAY.pattern}$"


_CLASSES = (
    ("spec", "priorityClassName"),
    ("spec", "podPriorityClassName"),
    ("spec", "workflowSpec", "podPriorityClassName"),
    ("spec", "jobTemplate", "spec", "priorityClassName"),
    ("spec", "runPolicy", "schedulingPolicy", "priorityClass"),
)


_OF_RAY = "ray.io/priority-class-name"
"""A label, of which KubeRay makes the class of the PodGroup and the pods."""


def classes_of_job(manifest: Manifest) -> list[object]:
    """The priority classes that Volcano, Argo, Kubeflow or KubeRay give to all pods of a job."""
    is_ray = str(manifest.get("apiVersion")).startswith("ray.io/")
    of_ray = at(manifest, "metadata", "labels", _OF_RAY) if is_ray else None
    return [*(at(manifest, *path) for path in _CLASSES), of_ray]


_CEL_OF_RAY = (
    "(object.apiVersion.startsWith('ray.io/') ? "
    f"dyn(object).?metadata.?labels[?'{_OF_RAY}'] : optional.none())"
)
CLASSES_OF_JOB = (
    f"[{', '.join('dyn(object).?' + '.?'.join(path) for path in _CLASSES)}, {_CEL_OF_RAY}]"
)
"""CEL: `classes_of_job`, as optionals."""


def day(value: object) -> date | None:
    """Returns the day that a text such as 2027-01-31 names, None where it names none."""
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:  # 2027-02-30 looks like a day
        return None


def today(settings: Settings) -> date:
    """The day on which the rules are asked."""
    return date.fromisoformat(str(settings["today"]))


def is_over(end: date, settings: Settings) -> bool:
    """Return whether a last day lies before the one on which the rules are asked."""
    return end < today(settings)


def is_count(optional: str) -> str:
    """CEL: whether an optional is there and what `gpu_work.counted` reads."""
    text = f"'%s'.format([{optional}.value()])"
    return f"({optional}.hasValue() && {text}.matches('{COUNT_PATTERN}'))"


def count(optional: str) -> str:
    """CEL: the number of an optional that `is_count`."""
    return f"int('%s'.format([{optional}.value()]))"


def within(optional: str, limit: str) -> str:
    """CEL: whether an optional is a whole number from 1 to the limit."""
    return f"({is_count(optional)} && {count(optional)} <= {limit})"


def is_day(optional: str) -> str:
    """CEL: whether an optional is written as a day; the API server knows no calendar."""
    return f"({optional}.hasValue() && '%s'.format([{optional}.value()]).matches('{DAY_PATTERN}'))"
