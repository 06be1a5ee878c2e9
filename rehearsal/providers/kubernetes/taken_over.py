"""Fields that the real provider takes over from other managers before it applies an object.

From `fixCSAFieldManagers` and `patchForce` in provider/pkg/await/await.go of pulumi-kubernetes, and
`PatchReplaceFieldsManagers` in ssa of fluxcd/pkg, which compares the starts of names.
"""

import copy
from collections.abc import Mapping
from typing import Any

MANAGERS = ("kubectl", "before-first-apply", "pulumi-kubernetes", "pulumi-resource-kubernetes")
"""Those that have written a field by an update. What any other has written stays a conflict."""
_OWN = ("pulumi-kubernetes", "pulumi-resource-kubernetes")


def forced_at_preview(live: Mapping[str, Any]) -> bool:
    """Whether a dry run forces, because the update itself would take the fields over first."""
    return any(_written_by(entry, _OWN) for entry in _entries(live))


def taken_over(live: Mapping[str, Any], manager: str) -> list[dict[str, Any]] | None:
    """The `managedFields` with what `manager` takes over as its own; None where there is none."""
    entries = copy.deepcopy(_entries(live))
    theirs = [entry for entry in entries if _written_by(entry, MANAGERS)]
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


def _written_by(entry: Mapping[str, Any], managers: tuple[str, ...]) -> bool:
    update = entry.get("operation") == "Update" and not entry.get("subresource")
    return update and str(entry.get("manager")).startswith(managers)


def _applied_by(entry: Mapping[str, Any], manager: str) -> bool:
    return entry.get("operation") == "Apply" and entry.get("manager") == manager


def _add(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        _add(fields.setdefault(key, {}), value)
