"""Ignition's rules for disks and files, each yielding (path inside the object, sentence)."""

import posixpath
import re
from collections.abc import Sequence
from itertools import combinations

from ignition.butane.checks import Context, Problems, Value, path_problem, url_problem
from ignition.butane.problems import Mild

_LABEL_LIMITS = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}
_GUID = re.compile(r"(|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})")


def _node(value: Value) -> Problems:
    if problem := path_problem(value["path"]):
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
    if value.get("path") and (problem := path_problem(value["path"])):
        yield ("path",), problem
    if problem := path_problem(value["device"]):
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
    if problem := path_problem(device or ""):
        yield ("device",), problem
    source = value.get("keyFile", {}).get("source")
    if source and (problem := url_problem(source, context)):
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
        if problem := path_problem(device):
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
    """Device of a disk, and that its partitions do not meet."""
    if problem := path_problem(value["device"]):
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
    """Where the later of two overlapping partitions stands."""
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
    """What files, directories, links, disks and filesystems ask of each other."""
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
