"""Names for resources that a program leaves unnamed, as the real providers make them."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rehearsal.providers.contract import NameMode, Refusal

if TYPE_CHECKING:
    from rehearsal.providers.contract import Naming, Resource
    from rehearsal.providers.values import Properties


@dataclass(frozen=True, kw_only=True)
class AutoName:
    """Which property is named when the program does not, and how, as in the real provider."""

    property: str = "name"
    digits: int = 7
    limit: int | None = None
    lower: bool = False


def automatic_name(
    resource: Resource, naming: Naming, *, digits: int, limit: int | None = None, path: str
) -> str:
    """A name for `resource`: its own, a hyphen and `digits` hexadecimal digits.

    The digits follow from the engine's seed, so that a retried call gives the same name. A name
    longer than `limit` loses the end of its readable part. `path` names the property in a refusal.
    """
    if naming.mode is NameMode.DISABLE:
        raise Refusal(
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
    rule: AutoName | None, resource: Resource, old: Properties, new: Properties, naming: Naming
) -> Properties:
    """The inputs with a name, and with the list of what was filled in, as the real ones have it."""
    inputs = {key: value for key, value in new.items() if key != "__defaults"}
    if rule is None or any(new.get(key) for key in (rule.property, f"{rule.property}Prefix")):
        return {**inputs, "__defaults": []}
    before = old.get(rule.property) if _was_automatic(rule, old) else None
    name = before or automatic_name(
        resource, naming, digits=rule.digits, limit=rule.limit, path=rule.property
    )
    made = name.lower() if rule.lower and isinstance(name, str) else name
    return {**inputs, rule.property: made, "__defaults": [rule.property]}


def keeps_its_name(rule: AutoName | None, old: Properties, new: Properties) -> bool:
    """Whether a replacement would bear the same name, which the program gave."""
    if rule is None or _was_automatic(rule, new):
        return False
    return old.get(rule.property) == new.get(rule.property)


def _was_automatic(rule: AutoName, inputs: Properties) -> bool:
    defaults = inputs.get("__defaults")
    return isinstance(defaults, list) and rule.property in defaults
