"""Fields that the real provider takes over from other managers before it applies an object.

From `fixCSAFieldManagers` and `patchForce` in provider/pkg/await/await.go of pulumi-kubernetes as
read at 94977969d641, 27 commits after v4.32.0, and `matchFieldManager` and
`PatchReplaceFieldsManagers` in ssa of fluxcd/pkg as read at 4f94dc680419, which its go.mod names.
That compares the starts of names, and passes over subresources.
"""

import copy
from collections.abc import Mapping
from typing import Any

MANAGERS = (
    ("kubectl", "Apply"),  # kubectl apply --server-side
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    ("pulumi-kubernetes", "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)
"""Starts of names, and by which operation they have written. Any other's stay a conflict."""
_OWN = ("pulumi-kubernetes", "pulumi-kubernetes.exe", "pulumi-resource-kubernetes")


def forced(live: Mapping[str, Any], *, preview: bool) -> bool:
    """Whether the request forces: always on an object in which nobody's fields are written down.

    A dry run also does where the update itself would first take over what the provider has made.
    """
    entries = _entries(live)
    return not entries or (preview and any(_made_by_provider(entry) for entry in entries))


def taken_over(live: Mapping[str, Any], manager: str) -> list[dict[str, Any]] | None:
    """The `managedFields` with what `manager` takes over as its own; None where there is none."""
    entries = copy.deepcopy(_entries(live))
    theirs = [entry for entry in entries if _is_taken_over(entry)]
    if not theirs:
        return None
    rest = [entry for entry in entries if entry not in theirs]
    ours = next((entry for entry in rest if _applied_by(entry, manager)), None)
    if ours is None:
        ours = {**theirs[0], "manager": manager, "operation": "Apply", "fieldsV1": {}}
        rest.append(ours)
    for entry in theirs:
        _add(ours["fieldsV1"], entry.get("fieldsV1") or {})
    return rest


def _entries(live: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (live.get("metadata") or {}).get("managedFields") or []
    return found


def _made_by_provider(entry: Mapping[str, Any]) -> bool:
    return entry.get("operation") == "Update" and entry.get("manager") in _OWN


def _is_taken_over(entry: Mapping[str, Any]) -> bool:
    manager, operation = str(entry.get("manager")), entry.get("operation")
    known = any(manager.startswith(start) and operation == by for start, by in MANAGERS)
    return known and not entry.get("subresource")


def _applied_by(entry: Mapping[str, Any], manager: str) -> bool:
    return entry.get("operation") == "Apply" and entry.get("manager") == manager


def _add(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        _add(fields.setdefault(key, {}), value)
