"""Kubernetes quantities in bytes, as far as memory and disk reservations use them."""

import re

_FORM = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?", re.ASCII)
_FACTORS = {"": 1, **{f"{p}i": 1024**n for n, p in enumerate("KMGTP", 1)}} | {
    p: 1000**n for n, p in enumerate("kMGTP", 1)
}


class QuantityError(ValueError):
    """Text that is no quantity of bytes, in words."""


def to_bytes(text: object) -> int:
    """The bytes of a quantity such as 6656Mi."""
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise QuantityError(f'"{text}" is no quantity; write such as 512Mi or 4Gi')
    return int(float(match[1]) * _FACTORS[match[2] or ""])


def threshold(text: object, capacity: int) -> int:
    """The bytes of an eviction threshold: a quantity, or a share of the capacity (`10%`)."""
    value = str(text)
    if not value.endswith("%"):
        return to_bytes(value)
    try:
        return int(capacity * float(value[:-1]) / 100)
    except ValueError:
        raise QuantityError(f'"{text}" is no percentage') from None


def kibibytes(count: int) -> str:
    """Bytes as the kubelet reports memory: in Ki."""
    return f"{count // 1024}Ki"
