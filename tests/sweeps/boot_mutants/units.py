"""Mutants of systemd units and their drop-ins."""

import re
from collections.abc import Iterator
from random import Random

from tests.support.ignition.faults import entries, find
from tests.sweeps.boot_mutants.bases import Base, Json, Kind, misspelt, recased

Mutants = Iterator[tuple[str, Json]]


def _unit(base: Base, name: str) -> tuple[Json, Json]:
    config = base.config()
    return config, find(config, "units", name)


def _written(base: Base) -> Iterator[str]:
    for entry in entries(base.config(), "units"):
        if entry.get("contents"):
            yield entry["name"]


def dropped(base: Base, _random: Random) -> Mutants:
    for name in base.names("units"):
        config, entry = _unit(base, name)
        entries(config, "units").remove(entry)
        yield name, config


def disabled(base: Base, _random: Random) -> Mutants:
    for name in base.names("units"):
        config, entry = _unit(base, name)
        if entry.get("enabled"):
            entry["enabled"] = False
            yield name, config


def masked(base: Base, _random: Random) -> Mutants:
    for name in base.names("units"):
        config, entry = _unit(base, name)
        if not entry.get("mask"):
            entry["mask"] = True
            yield name, config


def unmasked(base: Base, _random: Random) -> Mutants:
    for name in base.names("units"):
        config, entry = _unit(base, name)
        if entry.get("mask"):
            entry["mask"] = False
            yield name, config


def misnamed(base: Base, random: Random) -> Mutants:
    for name in base.names("units"):
        config, entry = _unit(base, name)
        stem, _, kind = name.rpartition(".")
        entry["name"] = random.choice((f"{misspelt(stem, random)}.{kind}", stem, f"{name}.conf"))
        yield entry["name"], config


def enabled_from_nowhere(base: Base, random: Random) -> Mutants:
    config = base.config()
    name = random.choice(("tuned.service", "irqbalance.service", "nvidia-powerd.service"))
    units = [each for each in entries(config, "units") if each["name"] != name]
    config["systemd"]["units"] = [*units, {"name": name, "enabled": True}]
    yield name, config


def without_install(base: Base, _random: Random) -> Mutants:
    for name in _written(base):
        config, entry = _unit(base, name)
        if entry.get("enabled"):
            entry["contents"] = entry["contents"].split("[Install]")[0]
            yield name, config


def _lines(base: Base) -> Iterator[tuple[str, int, str]]:
    for name in _written(base):
        for place, line in enumerate(_unit(base, name)[1]["contents"].splitlines()):
            if "=" in line and not line.startswith("#"):
                yield name, place, line


def _replaced(base: Base, name: str, place: int, new: str | None) -> Json:
    config, entry = _unit(base, name)
    lines = entry["contents"].splitlines()
    lines[place : place + 1] = [] if new is None else [new]
    entry["contents"] = "\n".join(lines) + "\n"
    return config


def directive_dropped(base: Base, _random: Random) -> Mutants:
    for name, place, line in _lines(base):
        yield f"{name}: {line}", _replaced(base, name, place, None)


def directive_misspelt(base: Base, random: Random) -> Mutants:
    for name, place, line in _lines(base):
        key, _, value = line.partition("=")
        new = random.choice((misspelt(key, random), recased(key)))
        yield f"{name}: {new}={value}", _replaced(base, name, place, f"{new}={value}")


def section_misspelt(base: Base, random: Random) -> Mutants:
    for name in _written(base):
        config, entry = _unit(base, name)
        section = random.choice(re.findall(r"^\[(\w+)\]$", entry["contents"], re.MULTILINE))
        new = random.choice((misspelt(section, random), section.lower()))
        entry["contents"] = entry["contents"].replace(f"[{section}]", f"[{new}]")
        yield f"{name}: [{new}]", config


def reference_misspelt(base: Base, random: Random) -> Mutants:
    for name, place, line in _lines(base):
        key, _, value = line.partition("=")
        if key in ("After", "Before", "Requires", "Wants", "WantedBy", "RequiredBy"):
            other = random.choice(value.split())
            stem, _, kind = other.rpartition(".")
            new = value.replace(other, f"{misspelt(stem, random)}.{kind}")
            yield f"{name}: {key}={new}", _replaced(base, name, place, f"{key}={new}")


def program_misspelt(base: Base, random: Random) -> Mutants:
    for name, place, line in _lines(base):
        if line.startswith("ExecStart="):
            program = line.partition("=")[2].split()[0]
            new = line.replace(
                program,
                f"{program.rpartition('/')[0]}/{misspelt(program.rpartition('/')[2], random)}",
            )
            yield f"{name}: {new[:70]}", _replaced(base, name, place, new)


def circle_of_two(base: Base, random: Random) -> Mutants:
    written = list(_written(base))
    if len(written) > 1:
        one, other = random.sample(written, 2)
        config = base.config()
        for name, before in ((one, other), (other, one)):
            entry = find(config, "units", name)
            entry["contents"] = entry["contents"].replace("[Unit]", f"[Unit]\nAfter={before}")
        yield f"{one} and {other}", config


def circle_through_the_system(base: Base, random: Random) -> Mutants:
    for name, place, line in _lines(base):
        if line.startswith("Before="):
            new = f"{line}\nAfter={random.choice(line.partition('=')[2].split())}"
            yield f"{name}: {new}", _replaced(base, name, place, new)
    # a target that pulls the unit in waits for it, and it for the target's own beginning
    name = random.choice([name for name in _written(base) if name.endswith(".service")])
    config, entry = _unit(base, name)
    if "DefaultDependencies" not in entry["contents"]:
        entry["contents"] = entry["contents"].replace("[Unit]", "[Unit]\nBefore=sysinit.target")
        yield f"{name} before sysinit.target", config


def _dropins(base: Base) -> Iterator[tuple[str, int]]:
    for entry in entries(base.config(), "units"):
        for place in range(len(entry.get("dropins") or ())):
            yield entry["name"], place


def dropin_dropped(base: Base, _random: Random) -> Mutants:
    for name, place in _dropins(base):
        config, entry = _unit(base, name)
        gone = entry["dropins"].pop(place)
        yield f"{name} {gone['name']}", config


def dropin_misnamed(base: Base, _random: Random) -> Mutants:
    for name, place in _dropins(base):
        config, entry = _unit(base, name)
        entry["dropins"][place]["name"] = entry["dropins"][place]["name"].removesuffix(".conf")
        yield f"{name} {entry['dropins'][place]['name']}", config


def dropin_line_dropped(base: Base, _random: Random) -> Mutants:
    for name, place in _dropins(base):
        lines = _unit(base, name)[1]["dropins"][place]["contents"].splitlines()
        for gone, line in enumerate(lines):
            if "=" in line and not line.startswith("#"):
                config, entry = _unit(base, name)
                entry["dropins"][place]["contents"] = "\n".join(lines[:gone] + lines[gone + 1 :])
                yield f"{name}: {line[:70]}", config


KINDS: dict[str, Kind] = {
    "unit dropped": dropped,
    "unit disabled": disabled,
    "unit masked": masked,
    "unit unmasked": unmasked,
    "unit misnamed": misnamed,
    "unit enabled that nobody brings": enabled_from_nowhere,
    "unit without [Install]": without_install,
    "directive dropped": directive_dropped,
    "directive misspelt": directive_misspelt,
    "section misspelt": section_misspelt,
    "reference misspelt": reference_misspelt,
    "program misspelt": program_misspelt,
    "units in a circle": circle_of_two,
    "units in a circle through the system": circle_through_the_system,
    "drop-in dropped": dropin_dropped,
    "drop-in misnamed": dropin_misnamed,
    "drop-in line dropped": dropin_line_dropped,
}
