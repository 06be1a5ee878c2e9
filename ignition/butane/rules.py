"""Ignition's rules for each kind of object: disks and files, resources, units and owners.

A rule yields (path inside the object, sentence) for each mistake. RULES has them by the kind that
the schema gives an object.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from ignition.butane import systemd_units, urls
from ignition.butane.problems import Mild, Path

Value = Mapping[str, Any]  # JSON by the schema: the walk has checked types and keys
Problems = Iterator[tuple[Path, str]]
_LABEL_LIMITS = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}
_GUID = re.compile(r"(|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})")
_UNIT_ENDINGS = (
    *(".service", ".socket", ".device", ".mount", ".automount", ".swap"),
    *(".target", ".path", ".timer", ".snapshot", ".slice", ".scope"),
)
_HASHES = {"sha512": 128, "sha256": 64}


@dataclass(frozen=True)
class Context:
    """The differences between the versions: `arn` allows S3 ARNs as sources."""

    arn: bool


def _path_problem(path: str) -> str | None:
    """Return why Ignition refuses a path, None where it accepts it."""
    if not path:
        return "a path is required"
    if not path.startswith("/"):
        return f'"{path}" is not absolute'
    if "/" + posixpath.normpath(path).lstrip("/") != path:
        return f'"{path}" is not in its shortest form'
    return None


def _extension(name: str) -> str:
    """The ending of a file name, dot included, as Go's path.Ext has it."""
    base = name.rsplit("/", 1)[-1]
    return base[base.rfind(".") :] if "." in base else ""


def _url_problem(url: str, context: Context) -> str | None:
    """Return why Ignition refuses a source, None where it accepts it."""
    try:
        urls.check(url, arn=context.arn)
    except urls.UrlError as error:
        return f'"{url[:60]}" is no source that Ignition takes: {error}'
    return None


@lru_cache(maxsize=256)
def _unit_text(text: str) -> tuple[tuple[tuple[str, str], ...], str | None]:
    """Return the (section, option) pairs of a unit, or why it is none; nodes share many units."""
    try:
        return tuple(systemd_units.parse(text)), None
    except systemd_units.UnitError as error:
        return (), f"is no unit: {error}"


def _node(value: Value) -> Problems:
    if problem := _path_problem(value["path"]):
        yield ("path",), problem
    mode = value.get("mode")
    if mode is not None and not 0 <= mode <= 0o7777:
        yield ("mode",), f"{mode:o} is not a mode between 0 and 7777 (octal)"
    elif mode is not None and mode & 0o7000:
        yield ("mode",), Mild(f"{mode:o}: setuid, setgid and sticky bits are not written")


def directory(value: Value, _: Context) -> Problems:
    """Path and mode of a directory."""
    yield from _node(value)


def link(value: Value, _: Context) -> Problems:
    """Path of a link; its target is checked with the storage."""
    yield from _node(value)


def file(value: Value, _: Context) -> Problems:
    """Path and mode of a file; overwriting needs contents."""
    yield from _node(value)
    if value.get("overwrite") and value.get("contents", {}).get("source") is None:
        yield ("overwrite",), "overwrite needs contents"


def filesystem(value: Value, _: Context) -> Problems:
    """Device, path, format and label of a filesystem."""
    form, label = value.get("format"), value.get("label")
    if value.get("path") and (problem := _path_problem(value["path"])):
        yield ("path",), problem
    if problem := _path_problem(value["device"]):
        yield ("device",), problem
    others = ("path", "label", "uuid", "wipeFilesystem", "mountOptions", "options")
    if not form and any(value.get(key) for key in others):
        yield ("format",), "a format is required with any other field"
    if form and form not in (*_LABEL_LIMITS, "none"):
        yield ("format",), f'"{form}" is unknown; allowed are {", ".join(_LABEL_LIMITS)} and none'
    if label and not form:
        yield ("label",), "a label needs a format"
    elif label and form in _LABEL_LIMITS and len(label.encode()) > _LABEL_LIMITS[form]:
        yield ("label",), f'"{label}" is longer than the {_LABEL_LIMITS[form]} bytes of {form}'


def luks(value: Value, context: Context) -> Problems:
    """Device, name, label and key of an encrypted volume."""
    device = value.get("device")
    if "/" in value["name"]:
        yield ("name",), "a slash is not allowed in the name"
    if len((value.get("label") or "").encode()) > 47:
        yield ("label",), "the label is longer than 47 bytes"
    if problem := _path_problem(device or ""):
        yield ("device",), problem
    source = value.get("keyFile", {}).get("source")
    if source and (problem := _url_problem(source, context)):
        yield ("keyFile",), problem


def raid(value: Value, _: Context) -> Problems:
    """Level, devices and spares of an array."""
    level = value.get("level") or ""
    striped = ("linear", "raid0", "0", "stripe")
    known = (
        *striped,
        "raid1",
        "1",
        "mirror",
        "raid4",
        "4",
        "raid5",
        "5",
        "raid6",
        "6",
        "raid10",
        "10",
    )
    if level not in known:
        yield ("level",), f'"{level}" is unknown; allowed are {", ".join(known)}'
    elif level in striped and value.get("spares"):
        yield ("level",), f"{level} has no spares"
    if not value.get("devices"):
        yield ("devices",), "an array needs devices"
    for position, device in enumerate(value.get("devices", ())):
        if problem := _path_problem(device):
            yield ("devices", position), problem


def partition(value: Value, _: Context) -> Problems:
    """Number, label and GUIDs of a partition."""
    label = value.get("label")
    described = any((label is not None, value.get("typeGuid"), value.get("guid"))) or any(
        value.get(key) is not None for key in ("startMiB", "sizeMiB")
    )
    if value.get("shouldExist") is False and described:
        yield (), "a partition that should not exist takes no other field than its number"
    if not value.get("number") and label is None:
        yield (), "a partition needs a number or a label"
    if label is not None and len(label.encode()) > 36:
        yield ("label",), "the label is longer than 36 bytes"
    if label is not None and ":" in label:
        yield ("label",), "a colon is not allowed in the label"
    for key in ("guid", "typeGuid"):
        if not _GUID.fullmatch(value.get(key) or ""):
            yield (key,), f'"{value[key]}" is no GUID'


def disk(value: Value, _: Context) -> Problems:
    """Device of a disk; its partitions must not overlap."""
    if problem := _path_problem(value["device"]):
        yield ("device",), problem
    partitions = value.get("partitions", [])
    for key in ("number", "label"):
        given: set[object] = set()
        for position, item in enumerate(partitions):
            if not (item.get(key) or (key == "label" and key in item)):
                continue
            if item[key] in given:
                yield ("partitions", position), f"two partitions have the same {key}"
                break
            given.add(item[key])
    if (second := _overlapping(partitions)) is not None:
        yield ("partitions", second), "two partitions overlap"
    gone = any(item.get("shouldExist") is False for item in partitions)
    if gone and any(not item.get("number") for item in partitions):
        yield ("partitions",), "partitions that should not exist need numbers on all others"


def _overlapping(partitions: Sequence[Value]) -> int | None:
    """The position of the later of two overlapping partitions, None where none overlap."""
    placed = [
        (position, item["startMiB"], item["startMiB"] + max(item["sizeMiB"] - 1, 0))
        for position, item in enumerate(partitions)
        if item.get("startMiB") and item.get("sizeMiB") is not None
    ]
    for (_, start, end), (position, other, last) in combinations(placed, 2):
        if max(start, other) <= min(end, last):
            return position
    return None


def storage(value: Value, _: Context) -> Problems:
    """Files below links, targets of links, and filesystems on disks that are partitioned."""
    links = value.get("links", ())
    for key in ("directories", "files", "links"):
        for position, item in enumerate(value.get(key, ())):
            if any(item["path"].startswith(f"{other['path']}/") for other in links):
                yield (key, position), f"{item['path']} lies below a link"
    for position, item in enumerate(links):
        for where, sentence in _link(item, value):
            yield ("links", position, *where), sentence
    disks = {item["device"]: item for item in value.get("disks", ())}
    for position, item in enumerate(value.get("filesystems", ())):
        owner_disk = disks.get(item["device"])
        if owner_disk is None:
            continue
        wiped = owner_disk.get("wipeTable") and not item.get("wipeFilesystem")
        if owner_disk.get("partitions") or wiped:
            sentence = Mild("the filesystem would overwrite its disk")
            yield ("filesystems", position, "device"), sentence


def _link(item: Value, value: Value) -> Problems:
    target = item.get("target")
    if not target:
        yield ("target",), "a link needs a target"
        return
    if not item.get("hard"):
        return
    absolute = target if target.startswith("/") else f"{item['path']}/{target}"
    if posixpath.normpath(absolute) in {other["path"] for other in value.get("directories", ())}:
        yield (), "a hard link cannot point at a directory"
    for key in ("user", "group"):
        for part in ("id", "name"):
            if part in item.get(key, {}):
                yield (key, part), Mild("a hard link has the owner of its target")


def resource(value: Value, context: Context) -> Problems:
    """Compression, hash, source and headers of a resource."""
    source = value.get("source")
    if value.get("compression", "") not in ("", "gzip"):
        yield ("compression",), f'"{value["compression"]}" is unknown; allowed is gzip'
    if value.get("verification", {}).get("hash") is not None and source is None:
        yield ("verification", "hash"), "a hash needs a source"
    if source and (problem := _url_problem(source, context)):
        yield ("source",), problem
    if value.get("httpHeaders") and not re.match(r"https?:", source or "", re.IGNORECASE):
        yield ("httpHeaders",), "headers need an http or https source"


def _required_source(value: Value, context: Context) -> str | None:
    source = value.get("source")
    return _url_problem(source, context) if source else "a source is required"


def header(value: Value, _: Context) -> Problems:
    """Name and value of an HTTP header."""
    if not value.get("name"):
        yield ("name",), "a header needs a name"
    if value.get("value") == "":
        yield ("value",), "a header's value must not be empty"


def verification(value: Value, _: Context) -> Problems:
    """The form of a hash."""
    text = value.get("hash")
    if text is None:
        return
    function, found, digest = text.partition("-")
    if not found or function not in _HASHES:
        yield ("hash",), f'"{text[:20]}" must begin with sha512- or sha256-'
    elif len(digest.encode()) != _HASHES[function]:
        yield ("hash",), f"{function} has {_HASHES[function]} hexadecimal digits, not {len(digest)}"


def merging(value: Value, context: Context) -> Problems:
    """Every merged configuration has a source."""
    for position, item in enumerate(value.get("merge", ())):
        if problem := _required_source(item, context):
            yield ("merge", position), problem


def tls(value: Value, context: Context) -> Problems:
    """Every certificate authority has a source."""
    for position, item in enumerate(value.get("certificateAuthorities", ())):
        if problem := _required_source(item, context):
            yield ("certificateAuthorities", position), problem


def proxy(value: Value, _: Context) -> Problems:
    """Proxies are http or https, and https is proxied by https."""
    for key, allowed in (("httpProxy", r"https?:"), ("httpsProxy", r"https:")):
        url = value.get(key)
        if url is not None and not re.match(allowed, url, re.IGNORECASE):
            sentence = f'"{url}" must begin with {allowed.replace("?", " or http")}//'
            plain = re.match("http:", url, re.IGNORECASE)
            yield (key,), Mild(sentence) if plain else sentence


def owner(value: Value, _: Context) -> Problems:
    """A user or group by id or by name."""
    if "id" in value and value.get("name"):
        yield (), "give the id or the name, not both"


def unit(value: Value, _: Context) -> Problems:
    """Name and text of a unit; an enabled unit needs an [Install] section."""
    if _extension(value["name"]) not in _UNIT_ENDINGS:
        yield ("name",), f'"{value["name"]}" must end in one of {" ".join(_UNIT_ENDINGS)}'
    text = value.get("contents")
    if text is None:
        return
    options, problem = _unit_text(text)
    if problem:
        yield ("contents",), problem
    elif text and value.get("enabled") and not _installs(options):
        yield ("contents",), Mild(f"{value['name']} is enabled and has no [Install] section")


def _installs(options: tuple[tuple[str, str], ...]) -> bool:
    return any(section == "Install" for section, _ in options)


def dropin(value: Value, _: Context) -> Problems:
    """Name and text of a drop-in."""
    if _extension(value["name"]) != ".conf":
        yield ("name",), f'"{value["name"]}" must end in .conf, or systemd does not read it'
    if value.get("contents") is not None and (problem := _unit_text(value["contents"])[1]):
        yield ("contents",), problem


def systemd(value: Value, _: Context) -> Problems:
    """An enabled instance of a template needs an [Install] section in the template."""
    by_name = {item["name"]: item for item in value.get("units", ())}
    for position, item in enumerate(value.get("units", ())):
        match = re.fullmatch(r"(.+?)@(.+?)\.service", item["name"])
        template = by_name.get(f"{match[1]}@.service") if match and item.get("enabled") else None
        if template is None or not template.get("contents"):
            continue
        options, problem = _unit_text(template["contents"])
        if problem is None and not _installs(options):
            sentence = Mild(f"{template['name']} has no [Install] section")
            yield ("units", position, "contents"), sentence


def whole(config: Value, version: str) -> Problems:
    """The version, and files that are written over a unit."""
    given = config.get("ignition", {}).get("version", "")
    if given != version:
        yield ("ignition", "version"), f'must be {version} to be checked, not "{given}"'
    written = set()
    for item in config.get("systemd", {}).get("units", ()):
        path = f"/etc/systemd/system/{item['name']}"
        if item.get("contents"):
            written.add(path)
        written |= {f"{path}.d/{d['name']}" for d in item.get("dropins", ()) if d.get("contents")}
    for key in ("files", "directories", "links"):
        for position, item in enumerate(config.get("storage", {}).get(key, ())):
            if item["path"] in written:
                yield ("storage", key, position, "path"), f"{item['path']} is also a unit"


RULES: dict[str, Callable[[Value, Context], Problems]] = {
    rule.__name__: rule
    for rule in (
        resource,
        header,
        verification,
        merging,
        tls,
        proxy,
        owner,
        unit,
        dropin,
        systemd,
        directory,
        link,
        file,
        filesystem,
        luks,
        raid,
        partition,
        disk,
        storage,
    )
}
