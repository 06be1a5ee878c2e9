"""The checks that Ignition 3.4 makes of a configuration before it touches a disk.

Keys and types are those of Ignition's own schema (ignition-3.4.json, from coreos/ignition), rules
follow the `Validate` functions of its config/v3_4/types.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ignition.boot.parsing import Json, nearest

KEYS: dict[str, str] = json.loads(
    (Path(__file__).parent / "ignition-3.4.json").read_text(encoding="utf-8")
)["keys"]
_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
}
UNIT = re.compile(
    r"[A-Za-z0-9:_.\\@-]+\.(service|timer|mount|automount|target|socket|path|slice|device|swap|scope)",
    re.ASCII,
)
_HASH = re.compile(r"sha512-[0-9a-f]{128}|sha256-[0-9a-f]{64}", re.ASCII)
_SCHEMES = ("data", "https", "http", "s3", "gs", "arn", "tftp")
_LISTS = {
    ("storage", "disks"): "device",
    ("storage", "raid"): "name",
    ("storage", "filesystems"): "device",
    ("systemd", "units"): "name",
}


class WrongTypeError(ValueError):
    """A value of another JSON type than Ignition decodes; the message names its key."""


def problems(config: Json) -> Iterator[str]:
    """Yield the mistakes of a configuration before it is merged with others; WrongTypeError."""
    yield from _keys(config, "")
    yield from _nodes(config)
    for (section, kind), key in _LISTS.items():
        yield from _twice(f"{section}.{kind}", [item.get(key) for item in _items(config, kind)])
    for unit in _items(config, "units"):
        yield from _unit(unit)
    for resource in _resources(config):
        yield from _resource(resource)


def _items(config: Json, kind: str) -> list[Json]:
    section = config.get("systemd" if kind == "units" else "storage")
    found = section.get(kind) if isinstance(section, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _keys(value: object, place: str) -> Iterator[str]:
    """Yield the keys that Ignition passes over; WrongTypeError at a value of a wrong type.

    Ignition decodes null as a key that is not given.
    """
    shown, kind = place.replace("[]", ""), KEYS.get(place, "object")
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) != (kind == "boolean"):
        wanted = f"a list of JSON {kind}s" if place.endswith("[]") else f"a JSON {kind}"
        raise WrongTypeError(f"{shown} must be {wanted}, not {json.dumps(value)[:40]}")
    if isinstance(value, list):
        for item in value:
            yield from _keys(item, f"{place}[]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            below = f"{place}.{key}".removeprefix(".")
            if below == "storage.luks[].clevis":
                yield f"{shown}.clevis is not supported by Flatcar; remove it"
            if below not in KEYS:
                yield _unknown(key, place)
            elif inner is not None:
                yield from _keys(inner, below)


def _unknown(key: str, place: str) -> str:
    known = {name.lower(): name for name in _names(place)}
    near = nearest(key.lower(), known, cutoff=0.7)
    hint = f"write {known[near]}" if near else "remove it"
    shown = f"{place}.{key}".removeprefix(".").replace("[]", "")
    return f"{shown} is no key of Ignition 3.4, which passes over it; {hint}"


def _names(place: str) -> Iterator[str]:
    """The names of the keys directly below a place."""
    for known in KEYS:
        parent, _, name = known.rpartition(".")
        if parent == place and not name.endswith("[]"):
            yield name


def _nodes(config: Json) -> Iterator[str]:
    kinds = {kind: _items(config, kind) for kind in ("files", "directories", "links")}
    given = [item.get("path") for items in kinds.values() for item in items]
    paths = [path for path in given if isinstance(path, str) and path]
    yield from _twice("storage", paths)
    links = {str(item.get("path")) for item in kinds["links"]}
    for path in paths:
        if not path.startswith("/") or posixpath.normpath(path) != path:
            yield f'the path "{path}" is no absolute path in its shortest form; correct it'
        elif path.startswith("/usr/") and not path.startswith("/usr/share/oem/"):
            yield f"{path} cannot be written, because /usr is read-only; use /etc or /opt"
        for parent in _parents(path) & links:
            yield f"{path} lies below the link {parent}, which Ignition refuses; write its target"
    for item in kinds["files"]:
        yield from _file_mode(str(item.get("path")), item.get("mode"))
        if item.get("overwrite") is True and not item.get("contents"):
            yield f"{item.get('path')} overwrites without contents; give it a source"
    for item in kinds["directories"]:
        yield from _directory_mode(str(item.get("path")), item.get("mode"))


def _parents(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:end]) for end in range(2, len(parts))}


def _file_mode(path: str, mode: object) -> Iterator[str]:
    if not isinstance(mode, int):
        return
    if not 0 <= mode <= 0o777:
        yield (
            f"{path} has the mode {mode}, which has bits beyond 0777; JSON wants octal 0644 as 420"
        )
    elif not mode & 0o400:
        yield f"{path} has the mode {mode:04o}, which its owner cannot read; write 0644"
    elif mode & 0o022:
        yield f"{path} has the mode {mode:04o}, and others may write it; write 0644"


def _directory_mode(path: str, mode: object) -> Iterator[str]:
    if not isinstance(mode, int):
        return
    if not 0 <= mode <= 0o7777 or mode & 0o700 != 0o700:
        yield f"{path} has the mode {mode:04o}, which its owner cannot use; JSON wants 0755 as 493"
    elif mode & 0o022 and not mode & 0o1000:
        yield f"{path} has the mode {mode:04o}, and others may write in it; write 0755"


def _twice(where: str, given: Iterable[object]) -> Iterator[str]:
    seen: set[object] = set()
    for name in map(str, given):
        if name in seen:
            yield f"{where} has {name} twice, which Ignition refuses; keep one"
        seen.add(name)


def _unit(unit: Json) -> Iterator[str]:
    name = str(unit.get("name") or "")
    if name and not UNIT.fullmatch(name):
        yield f'"{name}" is no name of a systemd unit; end it in .service, .timer, .mount or alike'
    dropins = unit.get("dropins")
    if isinstance(dropins, list):
        yield from _twice(name, [each.get("name") for each in dropins if isinstance(each, dict)])


def _resources(config: Json) -> Iterator[Json]:
    for item in _items(config, "files"):
        appended = item.get("append")
        for resource in (item.get("contents"), *(appended if isinstance(appended, list) else ())):
            if isinstance(resource, dict):
                yield resource


def _resource(resource: Json) -> Iterator[str]:
    source, verification = str(resource.get("source") or ""), resource.get("verification")
    given = verification.get("hash") if isinstance(verification, dict) else None
    scheme, shown = source.partition(":")[0], source.partition(",")[0][:90]
    if source and scheme not in _SCHEMES:
        yield f'the source "{shown}" has a scheme that Ignition does not read; use https'
    if scheme in ("http", "tftp") and given is None:
        yield f"{shown} comes over a connection that anybody can change; use https or give a hash"
    if given is not None and not _HASH.fullmatch(str(given)):
        yield f'the hash "{str(given)[:20]}…" of {shown} is malformed; write sha512- and 128 digits'
    if resource.get("compression") not in (None, "", "gzip"):
        yield f'{shown} has the compression "{resource["compression"]}"; Ignition knows gzip alone'
