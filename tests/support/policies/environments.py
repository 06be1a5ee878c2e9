"""The resources of this repository's environments, as the rules see them at a preview."""

from functools import cache
from typing import Any

from policies.language.manifest import EncryptedText
from policies.language.rule import Manifest
from tests.support.environments import program
from tests.support.recorder import Registered, Secret, render


@cache
def stack(environment: str) -> tuple[Manifest, ...]:
    """Every resource of an environment in normal form, its secrets opened and marked.

    In an order that does not depend on which was registered first, as the gate has them.
    """
    found = sorted(render(program(environment)), key=lambda each: (each.type, each.name))
    return tuple(map(_manifest, found))


def _manifest(resource: Registered) -> dict[str, Any]:
    inputs = _whole(resource.inputs)
    if not resource.type.startswith("kubernetes:") or "kind" not in inputs:
        return {"kind": resource.type, "metadata": {"name": resource.name}, "spec": inputs}
    inputs.setdefault("metadata", {}).setdefault("name", resource.name)
    return dict(inputs)


def _whole(value: Any, *, hidden: bool = False) -> Any:
    if isinstance(value, Secret):
        return _whole(value.value, hidden=True)
    if isinstance(value, dict):
        return {key: _whole(part, hidden=hidden) for key, part in value.items()}
    if isinstance(value, list):
        return [_whole(part, hidden=hidden) for part in value]
    if hidden and isinstance(value, str):
        return EncryptedText(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
