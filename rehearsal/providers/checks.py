"""Checks of single values, from which the tables of each cloud's input checks are made.

A check returns None for a good value, else the end of a sentence that says what is allowed.
"""

import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rehearsal.providers.contract import Failure
from rehearsal.providers.difference import join
from rehearsal.providers.values import Properties, Secret, Unknown, Value, plain, shown

Check: TypeAlias = Callable[[Value], str | None]


@dataclass(frozen=True)
class InputCheck:
    """A check of every value at `path`, in which `[*]` stands for each item of a list."""

    path: str
    check: Check

    def failures(self, inputs: Properties) -> Iterator[Failure]:
        """Yields a failure for each refused value; an absent or unknown value passes."""
        for path, value in find(inputs, self.path):
            if allowed := self.check(plain(value)):
                yield Failure(path=path, sentence=f"{path} is {shown(value)}, but {allowed}.")


def find(inputs: Properties, pattern: str) -> Iterator[tuple[str, Value]]:
    """The known values at `pattern`, each with its path."""
    yield from _find(inputs, re.findall(r"[^.\[\]]+", pattern), "", veiled=False)


def _find(
    value: Value, steps: list[str], path: str, *, veiled: bool
) -> Iterator[tuple[str, Value]]:
    match value, steps:
        case ((None | Unknown()), _):
            return
        case Secret(), _:
            yield from _find(value.value, steps, path, veiled=True)
        case _, []:
            yield path, Secret(value) if veiled else value
        case list(), ["*", *rest]:
            for index, item in enumerate(value):
                yield from _find(item, rest, join(path, index), veiled=veiled)
        case dict(), [step, *rest]:
            yield from _find(value.get(step), rest, join(path, step), veiled=veiled)


def one_of(*names: str) -> Check:
    """Allows a closed set of words."""

    def check(value: Value) -> str | None:
        return None if value in names else f"it must be one of {', '.join(names)}"

    return check


def matching(pattern: str, allowed: str) -> Check:
    """Allows a string that matches all of `pattern`; `allowed` describes such a string."""
    compiled = re.compile(pattern)

    def check(value: Value) -> str | None:
        good = isinstance(value, str) and compiled.fullmatch(value)
        return None if good else f"it must be {allowed}"

    return check


def whole_number(low: int, high: int) -> Check:
    """Allows a whole number from `low` to `high`."""

    def check(value: Value) -> str | None:
        good = number(value) is not None and low <= (number(value) or 0) <= high
        return None if good else f"it must be from {low} to {high}"

    return check


def number(value: Value) -> int | None:
    """A value as a whole number, also from decimal text, as the real providers read ids."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at_most_kib(limit_kib: int, why: str) -> Check:
    """Allows text of at most `limit_kib` KiB in UTF-8; `why` ends the refusal."""

    def check(value: Value) -> str | None:
        size = len(str(value).encode())
        if size <= limit_kib * 1024:
            return None
        return f"it must have at most {limit_kib * 1024} bytes and has {size}: {why}"

    return check


def cidr(*, version: int | None = None, longest: int | None = None) -> Check:
    """Allows a network in CIDR notation without host bits, of prefix length up to `longest`."""
    kind = f"an IPv{version} network" if version else "an IP network"

    def check(value: Value) -> str | None:
        parsed = network(value)
        if parsed is None or (version and parsed.version != version):
            return f"it must be {kind} in CIDR notation, such as 10.20.0.0/16, without host bits"
        if longest is not None and parsed.prefixlen > longest:
            return f"it must not be smaller than a /{longest}"
        return None

    return check


def network(value: Value) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """A value as an IP network; None where it is none."""
    try:
        return ipaddress.ip_network(value) if isinstance(value, str) and "/" in value else None
    except ValueError:
        return None


def address(value: Value) -> str | None:
    """Allows an IP address."""
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return "it must be an IP address such as 10.20.0.5"
    return None


def json_object(value: Value) -> str | None:
    """Allows a JSON object as text."""
    try:
        good = isinstance(json.loads(str(value)), dict)
    except ValueError:
        good = False
    return None if good else "it must be a JSON object"


def never(reason: str) -> Check:
    """Allows no value, as the real provider does for a removed property."""
    return lambda _: reason
