"""Which fields and values kubelet can decode: k8s.io/kubelet/config/v1beta1 of Kubernetes 1.36.

A value of a type that kubelet cannot decode keeps it from starting. A field that it does not know
it passes over with a line in its log, so that what was meant is not set: DecodeKubeletConfiguration
of pkg/kubelet/kubeletconfig/util/codec decodes once more without strictness.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ignition.boot.parsing import Json, nearest, shown

_KNOWN: Mapping[str, Any] = json.loads(
    (Path(__file__).parent / "kubelet-1.36.json").read_text(encoding="utf-8")
)
PLACES: Mapping[str, str] = _KNOWN["fields"]
FIELDS = frozenset(place for place in PLACES if not re.search(r"[.\[{]", place))
GATES: Mapping[str, tuple[bool, bool]] = {
    name: (default, locked) for name, (default, locked) in _KNOWN["gates"].items()
}
"""Each feature gate with its default, and whether it is locked to that."""
NEEDED_GATES: Mapping[str, tuple[str, ...]] = {
    name: tuple(needed) for name, needed in _KNOWN["needs"].items()
}
"""The gates without which a feature gate cannot be on."""
TLS_CIPHERS: tuple[str, ...] = tuple(_KNOWN["tls_ciphers"])
TLS_CURVES: tuple[int, ...] = tuple(_KNOWN["tls_curves"])
TLS_VERSIONS: tuple[str, ...] = tuple(_KNOWN["tls_versions"])
_INTEGERS = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
}
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
SECOND = 10**9


def duration(text: object) -> int | None:
    """The nanoseconds of a duration of Go such as 1h30m, None where it is none."""
    if not isinstance(text, str):
        return None
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    parts = _PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        return None
    units = {**_UNITS, "h": 3600 * SECOND}
    total = sum(round(float(number) * units[unit]) for number, unit in parts)
    return sign * total if total < 2**63 else None


def quantity(value: object) -> bool:
    """Return whether a value is a quantity of Kubernetes."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return False
    return bool(_QUANTITY.fullmatch(str(value)))


def amount(value: object) -> bool:
    """Return whether a value is a quantity that is not negative."""
    return quantity(value) and not str(value).startswith("-")


def mistakes(value: object, place: str, where: str) -> Iterator[str]:
    """Yield what of a value kubelet cannot decode; `where` is the place in words."""
    kind = PLACES[place]
    if kind == "string" and isinstance(value, (bool, int, float)):
        yield f'kubelet: {where} must be a string; write "{json.dumps(value)}"'
    elif not _fits(value, kind):
        yield f"kubelet: {where} {json.dumps(value)[:40]} has the wrong type; correct it"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from mistakes(item, f"{place}[]", f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            below = f"{place}{{}}" if kind == "map" else f"{place}.{key}"
            if below in PLACES:
                yield from mistakes(inner, below, f"{where}.{shown(key)}")


def unknown(value: object, place: str, where: str) -> Iterator[str]:
    """Yield the fields that kubelet does not know, and so passes over."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown(item, f"{place}[]", f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            below = f"{place}{{}}" if PLACES[place] == "map" else f"{place}.{key}"
            if below in PLACES:
                yield from unknown(inner, below, f"{where}.{key}")
                continue
            known = [name.rpartition(".")[2] for name in PLACES if name.startswith(f"{place}.")]
            near = nearest(key, known)
            yield (
                f"kubelet: {where}.{shown(key)} is no field of KubeletConfiguration; "
                f"{f'the nearest is {near}' if near else 'remove it'}"
            )


def _fits(value: object, kind: str) -> bool:
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    if kind == "duration or nanoseconds":
        return duration(value) is not None or _fits(value, "int64")
    return {
        "bool": lambda: isinstance(value, bool),
        "string": lambda: isinstance(value, str),
        "float64": lambda: isinstance(value, (int, float)) and not isinstance(value, bool),
        "array": lambda: isinstance(value, list),
        "map": lambda: isinstance(value, dict),
        "object": lambda: isinstance(value, dict),
        "duration": lambda: duration(value) is not None,
        "quantity": lambda: quantity(value),
        "time": lambda: isinstance(value, str) and bool(_TIME.fullmatch(value)),
    }[kind]()


def objects(found: Json) -> tuple[Json, list[str]]:
    """The fields that kubelet can decode, and what is wrong with the others."""
    kept: Json = {}
    problems: list[str] = []
    for name, value in found.items():
        wrong = list(mistakes(value, name, name)) if name in FIELDS else []
        problems += wrong
        if not wrong:
            kept[name] = value
    return kept, problems
