"""How predicates read a manifest: paths that may be missing, durations, quantities."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

from policies.rules.rule import Manifest

_DURATION = re.compile(r"(?:[0-9]+[smh])+")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)
_DECIMAL_POWER = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWER = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def at(value: object, *path: str) -> object:
    """Returns what lies at `path`, None where a step is missing or is not a mapping."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def mapping(value: object) -> Mapping[str, object]:
    """Returns `value` where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[object]:
    """Returns `value` where it is a list, else an empty one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def describe(manifest: Manifest) -> str:
    """Names an object in a sentence: `NodePool 'burst'`."""
    return f"{manifest.get('kind')} '{at(manifest, 'metadata', 'name')}'"


def seconds(duration: object) -> int | None:
    """Returns the seconds of a Karpenter duration (`30s`, `1h30m`), None where it is not one.

    Whole numbers of h, m and s alone: the CRD of NodePool refuses `1.5h` and `90`.
    """
    if not isinstance(duration, str) or not _DURATION.fullmatch(duration):
        return None
    parts = re.findall(r"([0-9]+)([smh])", duration)
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def quantity(value: object) -> Decimal | None:
    """Returns a Kubernetes quantity (`16`, `8000m`, `2Gi`), None where it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return None
    number, suffix = found[1], found[2] or ""
    if suffix in _BINARY_POWER:
        return Decimal(number) * (1 << _BINARY_POWER[suffix])
    if suffix in _DECIMAL_POWER:
        return Decimal(number).scaleb(_DECIMAL_POWER[suffix])
    try:
        return Decimal(number + suffix)
    except InvalidOperation:
        return None
