"""The fields that a program tells the engine to ignore, as the real provider applies them.

From `handleSSAIgnoreFields` in provider/pkg/await/await.go of pulumi-kubernetes: the engine sends
the old inputs for such a field, and the provider compares them with the object in the cluster.
"""

import copy
from collections.abc import Sequence

from rehearsal.providers.kubernetes.objects import metadata
from rehearsal.providers.values import Properties, Value


def with_ignored(
    body: Properties, live: Properties, manager: str, paths: Sequence[str]
) -> Properties:
    """The object to apply, with the fields at `paths` as the cluster has them.

    A field that only other managers own is left out, so that it neither conflicts nor changes
    hands. Another field keeps its live value. One that the cluster lacks stays as the engine sent
    it.
    """
    found = copy.deepcopy(body)
    entries = metadata(live).get("managedFields")
    owned = [entry for entry in (entries if isinstance(entries, list) else []) if entry]
    for path in paths:
        keys = path.split(".")
        ours = [_owns(entry, keys) for entry in owned if _manager(entry) == manager]
        theirs = [_owns(entry, keys) for entry in owned if _manager(entry) != manager]
        if any(theirs) and not any(ours):
            _remove(found, keys)
        elif (value := _at(live, keys)) is not None:
            _set(found, keys, value)
    return found


def _manager(entry: Value) -> Value:
    return entry.get("manager") if isinstance(entry, dict) else None


def _owns(entry: Value, keys: Sequence[str]) -> bool:
    """Whether an entry of managedFields has the field, or a part of it."""
    fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
    return _at(fields, [f"f:{key}" for key in keys]) is not None


def _at(value: Value, keys: Sequence[str]) -> Value:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _remove(value: Properties, keys: Sequence[str]) -> None:
    parent = _at(value, keys[:-1])
    if isinstance(parent, dict):
        parent.pop(keys[-1], None)


def _set(value: Properties, keys: Sequence[str], item: Value) -> None:
    for key in keys[:-1]:
        inner = value.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        value = inner
    value[keys[-1]] = copy.deepcopy(item)
