"""What differs between two sets of inputs, by property path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rehearsal.providers.contract import Change, Difference
from rehearsal.providers.values import Asset, Value, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rehearsal.providers.values import Properties

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
) -> Difference:
    """How `new` differs from `old`; a change at or around a path of `replace_on` replaces.

    `fixed_name` says that the replacement would bear the name of what it replaces, so that the old
    one must go first. An unknown differs from everything; null is the same as absent.
    """
    changed = dict(_changes("", plain(dict(old)), plain(dict(new))))
    wanted = tuple(replace_on)
    replaces = frozenset(path for path in changed if any(_touches(path, other) for other in wanted))
    return Difference(
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


def _changes(path: str, old: Value, new: Value) -> Iterator[tuple[str, Change]]:
    match old, new:
        case dict(), dict():
            for key in sorted({*old, *new} - {"__defaults"}):
                yield from _changes(join(path, key), old.get(key), new.get(key))
        case list(), list():
            for index in range(max(len(old), len(new))):
                yield from _changes(join(path, index), _item(old, index), _item(new, index))
        case Asset(), Asset():
            if old.hash != new.hash:
                yield path, Change.UPDATE
        case _:
            if old is None and new is not None:
                yield path, Change.ADD
            elif old is not None and new is None:
                yield path, Change.DELETE
            elif old != new:
                yield path, Change.UPDATE


def _item(values: list[Value], index: int) -> Value:
    return values[index] if index < len(values) else None
