"""Mutants of links, by which the system finds its extensions."""

from collections.abc import Iterator
from random import Random

from tests.support.ignition.faults import find
from tests.sweeps.boot_mutants.bases import Base, Json, Kind, misspelt
from tests.sweeps.boot_mutants.files import entry_of, without

Mutants = Iterator[tuple[str, Json]]


def link_renamed(base: Base, random: Random) -> Mutants:
    for path in base.names("links"):
        config, entry = entry_of(base, "links", path)
        folder, _, name = path.rpartition("/")
        entry["path"] = random.choice(
            (f"{folder}/{misspelt(name, random)}", path.removesuffix(".raw"), f"{folder}s/{name}")
        )
        yield entry["path"], config


def link_astray(base: Base, random: Random) -> Mutants:
    for path in base.names("links"):
        config, entry = entry_of(base, "links", path)
        target = entry["target"]
        entry["target"] = random.choice(
            (misspelt(target, random), target.replace("x86-64", "arm64"), f"{target}.gz", "")
        )
        if entry["target"] != target:
            yield f"{path} -> {entry['target']}", config


def links_exchanged(base: Base, random: Random) -> Mutants:
    links = base.names("links")
    if len(links) > 1:
        one, other = random.sample(links, 2)
        config = base.config()
        first, second = (find(config, "links", path) for path in (one, other))
        first["target"], second["target"] = second["target"], first["target"]
        yield f"{one} and {other}", config


KINDS: dict[str, Kind] = {
    "link dropped": without("links"),
    "link misnamed": link_renamed,
    "link astray": link_astray,
    "links exchanged": links_exchanged,
}
