"""Reads owned machines from what people have: an inventory file, or an export of BareMetalHosts.

The export is the output of `kubectl get baremetalhosts --all-namespaces --output yaml`, or the
hosts' own manifests. Its credentials are not read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from fleet.init.answers import PLACE, AnswerError
from settings.inventory import with_inventories

HOST = "BareMetalHost"
_YAML = (".yaml", ".yml", ".json")


def read_machines(path: Path) -> tuple[Mapping[str, str], ...]:
    """Return the entries of a file; raises AnswerError where it has none."""
    if path.suffix not in (".csv", *_YAML):
        allowed = f".csv, {', '.join(_YAML)}"
        raise AnswerError(f"--inventory is {path}; allowed: a file whose name ends in {allowed}.")
    hosts = _hosts(path) if path.suffix in _YAML else None
    if hosts is None:
        return _inventory(path)
    if not hosts:
        raise AnswerError(f"{path} has no {HOST}; allowed: one or more, or a list of machines.")
    return tuple(_entry(path, host) for host in hosts)


def _inventory(path: Path) -> tuple[Mapping[str, str], ...]:
    if path.suffix == ".json":
        raise AnswerError(f"{path} is a list; allowed in JSON: hosts as kubectl prints them.")
    read = with_inventories({"pools": {"machines": {"inventory": path.name}}}, path.parent)
    if mistakes := read.mistakes.get("machines"):
        raise AnswerError("\n".join(mistakes))
    entries = read.files["machines"].entries
    wrong = [entry for entry in entries if not isinstance(entry, Mapping)]
    if wrong:
        raise AnswerError(
            f"{path} has the entry {wrong[0]!r}; allowed: a mapping for each machine."
        )
    return tuple({str(key): str(value) for key, value in dict(entry).items()} for entry in entries)  # type: ignore[call-overload]  # checked above


def _hosts(path: Path) -> list[Mapping[str, Any]] | None:
    """Return the hosts of an export; None where the file is a list, as an inventory is."""
    try:
        documents = [*yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    except OSError as error:
        raise AnswerError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, yaml.YAMLError):
        return None  # whose reader says what is wrong
    if documents and all(isinstance(each, list) for each in documents):
        return None
    return [each for each in _objects(documents) if each.get("kind") == HOST]


def _objects(documents: list[Any]) -> Iterator[Mapping[str, Any]]:
    for document in documents:
        if isinstance(document, Mapping):
            items = document.get("items")
            yield from _objects(items) if isinstance(items, list) else (document,)


def _entry(path: Path, host: Mapping[str, Any]) -> Mapping[str, str]:
    name = _at(host, "metadata", "name")
    found = {
        "name": name,
        "bmc_address": _at(host, "spec", "bmc", "address"),
        "boot_mac_address": _at(host, "spec", "bootMACAddress"),
    }
    for field, value in found.items():
        if not value:
            raise AnswerError(f"{path}: {HOST} {name or 'without a name'} has no {field}.")
    wwn = _at(host, "spec", "rootDeviceHints", "wwn")
    serial = _at(host, "spec", "rootDeviceHints", "serialNumber")
    if not serial and not wwn:
        serial = f"{PLACE}-{name}"
    drives = {"system_drive_serial": serial, "system_drive_wwn": wwn}
    return {**found, **{field: value for field, value in drives.items() if value}}


def _at(value: Any, *path: str) -> str:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)
