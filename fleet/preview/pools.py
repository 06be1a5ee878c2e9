"""Reads the pools before and after a change from the engine's steps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fleet.preview.steps import Inputs, Step
from policies.language.inventory import capacity_of, gpu_limit_of
from settings.names import BARE_METAL_HOST, NODE_CLASS, NODE_POOL, SERVER

When = Literal["before", "after"]

# what stands for one always-on machine, by resource type, and what people call it
MACHINES = {
    SERVER: "server",
    BARE_METAL_HOST: "machine",
}
# which reservations a machine may come from says nothing of those that run
_DRIFTS_NOTHING = {"capacityReservationSelectorTerms"}


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool at one time. `limits` has the most GPUs of each kind of capacity."""

    hardware: str
    purpose: str
    site: str
    ignition: str
    flatcar: str = ""
    machines: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PoolChange:
    """A pool before (None: it is new) and after (None: it goes), and the steps of its parts."""

    name: str
    type: str  # of its component
    before: Pool | None
    after: Pool | None
    steps: tuple[Step, ...]

    @property
    def machine(self) -> str:
        """The noun for one machine of the pool."""
        found = (MACHINES[step.type] for step in self.steps if step.type in MACHINES)
        return next(found, "node")


def pools(steps: Mapping[str, Step]) -> tuple[PoolChange, ...]:
    """Returns every pool that the engine reported, changed or not, in alphabetical order."""
    parts: dict[str, list[Step]] = {}
    components: dict[str, Step] = {}
    for step in steps.values():
        component = _pool_of(step, steps)
        if component is step:
            components[step.urn] = step
        elif component is not None:
            parts.setdefault(component.urn, []).append(step)
    changes = [
        PoolChange(
            name=component.name,
            type=component.type,
            before=_pool(component.old, parts.get(urn, []), "before"),
            after=_pool(component.new, parts.get(urn, []), "after"),
            steps=tuple(parts.get(urn, [])),
        )
        for urn, component in components.items()
    ]
    return tuple(sorted(changes, key=lambda change: change.name))


def class_changes(change: PoolChange) -> tuple[str, ...]:
    """Returns the changes of the EC2NodeClass for which Karpenter replaces its nodes."""
    specs = [
        [(inputs or {}).get("spec") or {} for inputs in (step.old, step.new)]
        for step in change.steps
        if step.type == NODE_CLASS and step.op == "update"
    ]
    keys = {key for old, new in specs for key in {*old, *new} if old.get(key) != new.get(key)}
    return tuple(sorted(keys - _DRIFTS_NOTHING))


def _pool_of(step: Step, steps: Mapping[str, Step]) -> Step | None:
    """Returns the pool component that the resource is, or belongs to at any depth."""
    at: Step | None = step
    while at is not None:
        if at.type.startswith("gpu:pools:") and "pool" in (at.new or at.old or {}):
            return at
        at = steps.get(at.parent)
    return None


def _pool(component: Inputs | None, parts: list[Step], when: When) -> Pool | None:
    if component is None:
        return None
    inputs = [(step, step.old if when == "before" else step.new) for step in parts]
    present = [(step, found) for step, found in inputs if found is not None]
    return Pool(
        hardware=str(component.get("hardware", "")),
        purpose=str(component.get("purpose", "")),
        site=str(component.get("site", "")),
        ignition=str(component.get("ignition", "")),
        flatcar=str(component.get("flatcar", "")),
        machines=tuple(sorted(step.name for step, _ in present if step.type in MACHINES)),
        limits=dict(
            sorted(limit for step, found in present for limit in _limits(step, found)),
        ),
    )


def _limits(step: Step, inputs: Inputs) -> Iterator[tuple[str, int]]:
    if step.type == NODE_POOL:
        manifest = {**inputs, "kind": "NodePool"}
        limit = gpu_limit_of(manifest)
        if limit is not None:
            yield capacity_of(manifest) or step.name, limit
