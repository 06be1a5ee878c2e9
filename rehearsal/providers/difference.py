"""Compares two sets of inputs, by property path."""

import re
from collections.abc import Iterable, Iterator

from rehearsal.providers.contract import PropertyChange, PropertyDifference
from rehearsal.providers.values import Asset, Properties, Value, plain

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def join(path: str, key: str | int) -> str:
    """The property path of `key` inside `path`, in Pulumi's syntax: `rules[0].labels["a.b"]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        quoted = key.replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{quoted}"]'
    return f"{path}.{key}" if path else key


def difference(
    old: Properties, new: Properties, *, replace_on: Iterable[str] = (), fixed_name: bool = False
) -> PropertyDifference:
    """The differences of `new` from `old`; one at, in or around a path of `replace_on` replaces.

    With `fixed_name` the replacement has the name of the old object, which must then be deleted
    first. An unknown differs from everything; null equals absent.
    """
    changed = dict(_changes("", plain(dict(old)), plain(dict(new))))
    wanted = tuple(replace_on)
    replaces = frozenset(path for path in changed if any(_touches(path, other) for other in wanted))
    return PropertyDifference(
        changes=changed,
        replaces=replaces,
        delete_before_replace=bool(replaces) and fixed_name,
    )


def _touches(path: str, other: str) -> bool:
    return (
        path == other
        or path.startswith((f"{other}.", f"{other}["))
        or other.startswith((f"{path}.", f"{path}["))
    )


def _changes(path: str, old: Value, new: Value) -> Iterator[tuple[str, PropertyChange]]:
    match old, new:
        case dict(), dict():
            for key in sorted({*old, *new} - {"__defaults"}):
                yield from _changes(join(path, key), old.get(key), new.get(key))
        case list(), list():
            for index in range(max(len(old), len(new))):
                yield from _changes(join(path, index), _item(old, index), _item(new, index))
        case Asset(), Asset():
            if old.hash != new.hash:
                yield path, PropertyChange.UPDATE
        case _:
            if old is None and new is not None:
                yield path, PropertyChange.ADD
            elif old is not None and new is None:
                yield path, PropertyChange.DELETE
            elif old != new:
                yield path, PropertyChange.UPDATE


def _item(values: list[Value], index: int) -> Value:
    return values[index] if index < len(values) else None
