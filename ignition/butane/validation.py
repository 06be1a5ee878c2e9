"""Holds an Ignition config to Ignition's own rules (coreos/ignition config/v3_4/types), strictly.

What Ignition only warns of is refused. One rule per kind of object stands in rules.py; here are the
walk over the config, duplicated keys, and the check of types for configs that come as JSON.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from ignition.butane.problems import Mild, Path
from ignition.butane.rules import RULES, Context, whole
from ignition.butane.schema import ListOf, Struct, document

Say = Callable[[Path, str], None]
_BUTANE_VERSIONS = {"3.3.0": "1.0.0", "3.4.0": "1.1.0"}
# lists that may name a thing twice, and lists that share their names
_MAY_REPEAT = {
    ("file", "append"),
    ("filesystem", "options"),
    ("filesystem", "mountOptions"),
    ("luks", "options"),
    ("raid", "options"),
}
_SHARED = {
    "storage": ("directories", "files", "links"),
    "arguments": ("shouldExist", "shouldNotExist"),
}
_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}


def validate(config: Mapping[str, object], version: str, say: Say) -> None:
    """Say what is wrong with the config of Ignition `version` (3.3.0 or 3.4.0)."""
    struct = document(_BUTANE_VERSIONS[version])
    for value, inner, path in _walk(config, struct, ()):
        rule = RULES.get(inner.kind)
        if rule is not None:
            for where, sentence in rule(value, Context(arn=version == "3.4.0")):
                say((*path, *where), sentence)
        for where, sentence in _duplicates(value, inner):
            say((*path, *where), sentence)
    for where, sentence in whole(config, version):
        say(where, sentence)


def conform(config: object, version: str, say: Say) -> bool:
    """Return whether all known keys of JSON have the right type; `say` gets the mistakes."""
    return _conform(config, document(_BUTANE_VERSIONS[version]), (), say)


def _walk(
    value: Mapping[str, object], struct: Struct, path: Path
) -> Iterator[tuple[Mapping[str, object], Struct, Path]]:
    yield value, struct, path
    for key, kind in struct.nested:
        child = value.get(key)
        if child is None:
            continue
        if isinstance(kind, Struct):
            yield from _walk(cast("Mapping[str, object]", child), kind, (*path, key))
        elif isinstance(kind.item, Struct):
            for position, item in enumerate(cast("list[Mapping[str, object]]", child)):
                yield from _walk(item, kind.item, (*path, key, position))


def _duplicates(value: Mapping[str, object], struct: Struct) -> Iterator[tuple[Path, str]]:
    seen: dict[str, set[object]] = {}
    shared = _SHARED.get(struct.kind, ())
    for key, kind in struct.lists:
        items = cast("list[object] | None", value.get(key))
        if not items or (struct.kind, key) in _MAY_REPEAT:
            continue
        names = seen.setdefault("shared" if key in shared else key, set())
        for position, item in enumerate(items):
            name = _key(item, kind.item)
            if name in names:
                yield (key, position), f'"{name}" stands there twice'
            names.add(name)


def _key(item: object, kind: object) -> object:
    if not isinstance(kind, Struct):
        return item
    value = cast("Mapping[str, object]", item)
    if kind.kind == "partition":
        if value.get("number"):
            return f"number:{value['number']}"
        return f"label:{value['label']}" if "label" in value else ""
    identity = {
        "resource": "source",
        "disk": "device",
        "filesystem": "device",
        "file": "path",
        "directory": "path",
        "link": "path",
    }.get(kind.kind, "name")
    return value.get(identity, "")


def _conform(value: object, kind: object, path: Path, say: Say) -> bool:
    if isinstance(kind, ListOf):
        if not isinstance(value, list):
            say(path, "must be a list")
            return False
        items = [_conform(item, kind.item, (*path, n), say) for n, item in enumerate(value)]
        return all(items)
    if not isinstance(kind, Struct):
        fits = isinstance(value, _TYPES[str(kind)]) and (kind == "boolean") is isinstance(
            value, bool
        )
        if not fits:
            say(path, f"must be of type {kind}, not {value!r}")
        return fits
    if not isinstance(value, dict):
        say(path, "must be an object")
        return False
    fields = dict(kind.ignition)
    for key in value.keys() - fields.keys():
        say((*path, key), Mild(f"unused key {key}"))
    known = [
        _conform(child, fields[key].type, (*path, key), say)
        for key, child in value.items()
        if child is not None and key in fields
    ]
    return all(known)
