"""Resource quantities: the same amount may be written in several ways."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rehearsal.providers.values import Value

_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def same_quantity(first: Value, second: Value) -> bool:
    """Whether both say the same amount, as "1000m" and "1" or 1 do."""
    amounts = (amount(first), amount(second))
    return amounts[0] is not None and amounts[0] == amounts[1]


def amount(value: Value) -> Decimal | None:
    """The amount that a value says; None where it says none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return None
    digits, suffix = Decimal(found[1]), found[2] or ""
    if suffix in _BINARY:
        return digits * Decimal(1024) ** _BINARY[suffix]
    if suffix in _DECIMAL:
        return digits.scaleb(_DECIMAL[suffix])
    return digits.scaleb(int(suffix[1:]))
