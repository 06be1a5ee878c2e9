"""How predicates read a manifest: paths that may be missing, durations, quantities."""

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_UP, Decimal
from typing import cast

from policies.language.rule import Manifest

_DURATION = re.compile(r"(?:[0-9]+[smh])+")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_QUANTITY = re.compile(r"([+-]?)([0-9]*)(\.?[0-9]*)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_BILLIONTH, _MOST = -9, Decimal(2**63 - 1)
_DECIMAL_POWER = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWER = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class EncryptedText(str):
    """A text that Pulumi encrypts in its state; rules can still read what it says."""

    __slots__ = ()


def at(value: object, *path: str) -> object:
    """Returns what lies at `path`, None where a step is missing or is not a mapping."""
    for step in path:
        # a dict is known by its type alone, which is much quicker than to ask whether it is one
        known = type(value) is dict or isinstance(value, Mapping)
        value = cast("Mapping[str, object]", value).get(step) if known else None
    return value


def mapping(value: object) -> Mapping[str, object]:
    """Returns `value` where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[object]:
    """Returns `value` where it is a list, else an empty one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def is_true(value: object) -> bool:
    """Return whether a value is `true`; one not known yet raises, unlike with `is`."""
    return isinstance(value, bool) and value


def is_false(value: object) -> bool:
    """The same of `false`; 0 is none."""
    return isinstance(value, bool) and not value


def describe(manifest: Manifest) -> str:
    """Names an object in a sentence: `NodePool 'burst'`, or by what its name will begin with."""
    name = at(manifest, "metadata", "name")
    if name is None:
        name = at(manifest, "metadata", "generateName")
    return f"{manifest.get('kind')} " + ("without a name" if name is None else f"'{name}'")


def seconds(duration: object) -> int | None:
    """Returns the seconds of a Karpenter duration (`30s`, `1h30m`), None where it is not one.

    Whole numbers of h, m and s alone: the CRD of NodePool refuses `1.5h` and `90`.
    """
    if not isinstance(duration, str) or not _DURATION.fullmatch(duration):
        return None
    parts = re.findall(r"([0-9]+)([smh])", duration)
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def quantity(value: object) -> Decimal | None:
    """Returns a Kubernetes quantity (`16`, `8000m`, `2Gi`), None where it is not one.

    As the API server reads it: no digits (`-`, `Gi`) are 0, what is finer than a billionth is
    rounded up, and nothing with a binary unit is above 2^63-1. See
    https://github.com/kubernetes/apimachinery/blob/master/pkg/api/resource/quantity.go.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    found = _QUANTITY.fullmatch(text)
    if found is None or not text or text.lstrip("+-.") in ("Pi", "Ei"):
        return None
    sign, whole, fraction, suffix = (part or "" for part in found.groups())
    try:
        amount = _times(Decimal(f"{whole or 0}{fraction}"), suffix)
    except ArithmeticError:
        return None
    return -amount if sign == "-" else amount


def is_some(amount: object) -> bool:
    """Return whether a container asks for anything by an amount, which Kubernetes reads as a
    quantity: a null is 0, and a text that nobody can read will be some.
    """
    return amount is not None and str(amount) != "0"


def _times(number: Decimal, suffix: str) -> Decimal:
    if suffix in _BINARY_POWER:
        return min(_in_billionths(number * (1 << _BINARY_POWER[suffix])), _MOST)
    if suffix in _DECIMAL_POWER:
        return _in_billionths(number.scaleb(_DECIMAL_POWER[suffix]))
    return _in_billionths(number * Decimal(f"1{suffix}"))


def _in_billionths(number: Decimal) -> Decimal:
    if cast("int", number.as_tuple().exponent) >= _BILLIONTH:
        return number
    return number.quantize(Decimal((0, (1,), _BILLIONTH)), ROUND_UP)
