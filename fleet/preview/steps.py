"""Reads the engine's step for each resource from its event log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.events import STACK, name_of

Op = Literal["same", "create", "update", "replace", "delete"]
Inputs = Mapping[str, Any]

# the engine tells a replacement in three steps; the one that only deletes adds nothing
_OPS: dict[str, Op] = {
    "same": "same",
    "create": "create",
    "import": "create",
    "update": "update",
    "replace": "replace",
    "create-replacement": "replace",
    "import-replacement": "replace",
    "delete": "delete",
}
ANOTHER_CLUSTER = "another cluster: every object of the old one is deleted and made in the new one"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One resource before and after. `changed` are property paths, `forcing` those that replace."""

    op: Op
    type: str
    name: str
    urn: str
    parent: str
    old: Inputs | None
    new: Inputs | None
    changed: tuple[str, ...] = ()
    forcing: tuple[str, ...] = ()

    @property
    def is_component(self) -> bool:
        """True if the resource only groups others and exists in no cloud."""
        return self.type.startswith("gpu:")

    @property
    def kind(self) -> str:
        """The last word of its type: Server, NodePool, Secret."""
        return self.type.rsplit(":", 1)[-1]


def steps(events: Iterable[Mapping[str, Any]]) -> dict[str, Step]:
    """Returns one step per resource by URN, without the stack itself and the providers."""
    found: dict[str, Step] = {}
    for event in events:
        before = event.get("resourcePreEvent")
        metadata = before["metadata"] if before else {}
        op = _OPS.get(metadata.get("op", ""))
        kind = metadata.get("type", "")
        if op and kind != STACK and not kind.startswith("pulumi:providers:"):
            found[metadata["urn"]] = _step(op, metadata)
    return found


def cluster_access(events: Iterable[Mapping[str, Any]]) -> str | None:
    """Returns what a change of the access to the cluster means; None where there is no change."""
    found = {
        before["metadata"]["op"]
        for event in events
        if (before := event.get("resourcePreEvent"))
        and before["metadata"].get("type") == "pulumi:providers:kubernetes"
    }
    if any("replace" in op for op in found):
        return ANOTHER_CLUSTER
    if "update" in found:
        return "changed: the access to the cluster (kubeconfig), for which no object is replaced"
    return None


def _step(op: Op, metadata: Mapping[str, Any]) -> Step:
    old, new = metadata.get("old") or {}, metadata.get("new") or {}
    detailed = metadata.get("detailedDiff") or {}
    replacing = [path for path, change in detailed.items() if "replace" in change["diffKind"]]
    return Step(
        op=op,
        type=metadata["type"],
        name=name_of(metadata["urn"]),
        urn=metadata["urn"],
        parent=new.get("parent") or old.get("parent") or "",
        old=None if op == "create" else old.get("inputs") or {},
        new=None if op == "delete" else new.get("inputs") or {},
        changed=tuple(detailed or metadata.get("diffs") or ()),
        forcing=tuple(replacing or metadata.get("keys") or ()),
    )
