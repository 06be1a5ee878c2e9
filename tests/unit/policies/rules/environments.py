"""The resources of this repository's environments, as the rules see them at a preview."""

from functools import cache
from typing import Any

from policies.rules.rule import Manifest
from tests.recorder import Registered, render
from tests.unit.stacks.described import opened
from tests.unit.stacks.programs import program


@cache
def stack(environment: str) -> tuple[Manifest, ...]:
    """Every resource of an environment in normal form, its secrets opened."""
    return tuple(_manifest(each) for each in render(program(environment)))


def _manifest(resource: Registered) -> dict[str, Any]:
    inputs = _whole(opened(resource.inputs))
    if not resource.type.startswith("kubernetes:") or "kind" not in inputs:
        return {"kind": resource.type, "metadata": {"name": resource.name}, "spec": inputs}
    inputs.setdefault("metadata", {}).setdefault("name", resource.name)
    return dict(inputs)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
