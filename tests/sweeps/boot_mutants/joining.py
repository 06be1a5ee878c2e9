"""Mutants of how the node joins, and of the configuration as a whole."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.support.ignition.faults import encoded, find
from tests.sweeps.boot_mutants.bases import JOIN, Base, Json, Kind, misspelt, recased

Mutants = Iterator[tuple[str, Json]]
Place = tuple[str | int, ...]


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Every key of a JSON document."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield (*path, key)
            yield from places(child, (*path, key))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from places(child, (*path, number))


def at(value: Any, path: Place) -> Any:
    """What stands at a place."""
    for part in path:
        value = value[part]
    return value


def _join(base: Base) -> Any:
    return base.document(JOIN)


def _shown(path: Place) -> str:
    return ".".join(map(str, path))


def field_dropped(base: Base, _random: Random) -> Mutants:
    for path in places(_join(base)):
        join = _join(base)
        del at(join, path[:-1])[path[-1]]
        yield _shown(path), base.with_document(JOIN, join)


def field_misspelt(base: Base, random: Random) -> Mutants:
    for path in places(_join(base)):
        join, name = _join(base), str(path[-1])
        parent = at(join, path[:-1])
        new = random.choice((misspelt(name, random), recased(name)))
        parent[new] = parent.pop(name)
        yield _shown((*path[:-1], new)), base.with_document(JOIN, join)


def value_wrong(base: Base, random: Random) -> Mutants:
    for path in places(_join(base)):
        join = _join(base)
        parent, value = at(join, path[:-1]), at(join, path)
        if isinstance(value, str):
            wrong = random.choice((misspelt(value, random), "", 1, value.upper()))
            # no boot data knows the right host, so the endpoint only loses its port
            parent[path[-1]] = value.partition(":")[0] if "Endpoint" in str(path[-1]) else wrong
        else:
            parent[path[-1]] = random.choice(("x", 1, None))
        if parent[path[-1]] != value:
            yield f"{_shown(path)} changed", base.with_document(JOIN, join)


def names_disagree(base: Base, _random: Random) -> Mutants:
    if "/etc/hostname" in base.texts:
        yield "/etc/hostname", base.with_text("/etc/hostname", "another\n")
        yield "in capitals", base.with_text("/etc/hostname", "Node-01\n")


def key_in_the_wrong_case(base: Base, random: Random) -> Mutants:
    for path in places(base.config()):
        if path[0] != "ignition" and random.random() < 0.2:
            config, name = base.config(), str(path[-1])
            parent = at(config, path[:-1])
            new = random.choice((misspelt(name, random), recased(name)))
            parent[new] = parent.pop(name)
            yield _shown((*path[:-1], new)), config


def wrong_json_type(base: Base, random: Random) -> Mutants:
    for path in places(base.config()):
        if random.random() < 0.2:
            config = base.config()
            parent, value = at(config, path[:-1]), at(config, path)
            parent[path[-1]] = str(value) if not isinstance(value, str) else [value]
            yield _shown(path), config


def wrong_version(base: Base, random: Random) -> Mutants:
    config = base.config()
    config["ignition"]["version"] = random.choice(
        ("2.3.0", "3.5.0", "3.7.0-experimental", "1.1.0", "3.4")
    )
    yield config["ignition"]["version"], config


def merged_again(base: Base, random: Random) -> Mutants:
    """A second configuration takes back what the first one says."""
    config = base.config()
    path = random.choice(sorted(base.texts))
    entry = dict(find(config, "files", path))
    entry["contents"] = {"source": encoded("# nothing\n")}
    child = {"ignition": {"version": "3.4.0"}, "storage": {"files": [entry]}}
    config["ignition"]["config"] = {"merge": [{"source": encoded(json.dumps(child))}]}
    yield path, config


def replaced(base: Base, _random: Random) -> Mutants:
    config = base.config()
    source = encoded('{"ignition":{"version":"3.4.0"}}')
    config["ignition"]["config"] = {"replace": {"source": source}}
    yield "by an empty configuration", config


KINDS: dict[str, Kind] = {
    "join field dropped": field_dropped,
    "join field misspelt": field_misspelt,
    "join value wrong": value_wrong,
}
WHOLE: dict[str, Kind] = {
    "names disagree": names_disagree,
    "Ignition key misspelt": key_in_the_wrong_case,
    "Ignition value of a wrong type": wrong_json_type,
    "Ignition version": wrong_version,
    "file overwritten by a merge": merged_again,
    "configuration replaced": replaced,
}
