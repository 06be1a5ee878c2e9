"""Makes names for unnamed resources, as the real providers do."""

import hashlib
import secrets
from dataclasses import dataclass

from rehearsal.errors import RefusedError
from rehearsal.providers.contract import NameMode, Naming, Resource
from rehearsal.providers.values import Properties


@dataclass(frozen=True, kw_only=True)
class AutoName:
    """The property that gets a name when the program gives none, and the form of that name."""

    property: str = "name"
    digits: int = 7
    limit: int | None = None
    lower: bool = False


def automatic_name(
    resource: Resource, naming: Naming, *, digits: int, limit: int | None = None, path: str
) -> str:
    """A name for `resource`: its own name, a hyphen and `digits` hexadecimal digits.

    The digits follow from the engine's seed, so that a retried call gives the same name. The
    readable part is cut so that the name has at most `limit` characters. A refusal names `path`.
    """
    if naming.mode is NameMode.DISABLE:
        raise RefusedError(
            f"{resource.name} ({resource.type}) has no {path}, and pulumi:autonaming is off: "
            f"give it one.",
            summary="unnamed",
        )
    if naming.proposed:
        return naming.proposed
    readable = resource.name if limit is None else resource.name[: limit - digits - 1]
    return f"{readable}-{_hexadecimal(naming.seed, resource.urn, digits)}"


def _hexadecimal(seed: bytes, urn: str, digits: int) -> str:
    if not seed:
        return secrets.token_hex(digits)[:digits]
    return hashlib.sha256(seed + urn.encode()).hexdigest()[:digits]


def with_name(
    auto_name: AutoName | None, resource: Resource, old: Properties, new: Properties, naming: Naming
) -> Properties:
    """The inputs with a name, and with `__defaults`, the list of what was filled in."""
    inputs = {key: value for key, value in new.items() if key != "__defaults"}
    if auto_name is None or any(
        new.get(key) for key in (auto_name.property, f"{auto_name.property}Prefix")
    ):
        return {**inputs, "__defaults": []}
    before = old.get(auto_name.property) if _was_automatic(auto_name, old) else None
    name = before or automatic_name(
        resource,
        naming,
        digits=auto_name.digits,
        limit=auto_name.limit,
        path=auto_name.property,
    )
    made = name.lower() if auto_name.lower and isinstance(name, str) else name
    return {**inputs, auto_name.property: made, "__defaults": [auto_name.property]}


def keeps_its_name(auto_name: AutoName | None, old: Properties, new: Properties) -> bool:
    """Returns whether a replacement keeps the old object's name, because the program set it."""
    if auto_name is None or _was_automatic(auto_name, new):
        return False
    return old.get(auto_name.property) == new.get(auto_name.property)


def _was_automatic(auto_name: AutoName, inputs: Properties) -> bool:
    defaults = inputs.get("__defaults")
    return isinstance(defaults, list) and auto_name.property in defaults
