"""Whether a Job, a Job of Volcano or a pod of a file has what makes it one that can run."""

from collections.abc import Iterator, Mapping
from typing import Any

from policies.language.manifest import quantity
from rehearsal.moves.gpu_parts import MIG
from settings.names import GPU

WHOLE = "a whole number of 1 or more"
MOST = 1000
"""GPUs, or instances, that a container may have in a file; no machine has so many."""


def shape_fault(found: Mapping[str, Any]) -> str:
    """Return what is wrong with an object, with the field, its value and what is allowed."""
    return next(_faults(found), "")


def _faults(found: Mapping[str, Any]) -> Iterator[str]:
    spec, metadata = found["spec"], found["metadata"]
    if not isinstance(metadata, dict):
        yield f'has metadata "{metadata}", which is no mapping'
        return
    for key in ("name", "namespace"):
        if key in metadata and not isinstance(metadata[key], str):
            yield f'has metadata.{key} "{metadata[key]}", which is no text'
    if not isinstance(spec, dict):
        yield f'has spec "{spec}", which is no mapping'
    elif found["kind"] == "Pod":
        yield from _of_pod(spec, "spec")
    elif "tasks" in spec or "template" not in spec:
        yield from _of_gang(spec)
    else:
        yield from _of_template(spec["template"], "spec.template")


def _of_gang(spec: Mapping[str, Any]) -> Iterator[str]:
    tasks = spec.get("tasks")
    if "tasks" not in spec:
        return  # a Job without a template, which its reader names
    if not isinstance(tasks, list) or not tasks:
        yield f'has spec.tasks "{tasks}", which is no list with a task'
        return
    if spec.get("minAvailable") is not None and not _is_whole(spec["minAvailable"]):
        yield f'has spec.minAvailable "{spec["minAvailable"]}", which is not {WHOLE}'
    for position, task in enumerate(tasks):
        path = f"spec.tasks[{position}]"
        if not isinstance(task, dict):
            yield f'has {path} "{task}", which is no mapping'
        elif task.get("replicas", 0) != 0 and not _is_whole(task["replicas"]):
            yield f'has {path}.replicas "{task["replicas"]}", which is not {WHOLE}, or 0'
        else:
            yield from _of_template(task.get("template"), f"{path}.template")


def _of_template(template: object, path: str) -> Iterator[str]:
    spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        yield f'has {path}.spec "{spec}", which is no mapping'
    else:
        yield from _of_pod(spec, f"{path}.spec")


def _of_pod(spec: Mapping[str, Any], path: str) -> Iterator[str]:
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers:
        yield f'has {path}.containers "{containers}", which is no list with a container'
        return
    for position, each in enumerate(containers):
        here = f"{path}.containers[{position}]"
        if isinstance(each, dict):
            yield from _of_limits(each.get("resources"), f"{here}.resources")
        else:
            yield f'has {here} "{each}", which is no mapping'


def _of_limits(resources: object, path: str) -> Iterator[str]:
    if resources is not None and not isinstance(resources, dict):
        yield f'has {path} "{resources}", which is no mapping'
        return
    limits = (resources or {}).get("limits")
    if limits is not None and not isinstance(limits, dict):
        yield f'has {path}.limits "{limits}", which is no mapping'
        return
    for name, value in (limits or {}).items():
        if str(name).startswith((GPU, MIG)) and not _is_count(value):
            yield (
                f'has {path}.limits.{name} "{value}", which is not a whole number of 0 to {MOST}'
            )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_count(value: object) -> bool:
    number = quantity(value)
    digits = str(value).isdecimal() and not isinstance(value, bool)
    return number is not None and digits and number <= MOST
