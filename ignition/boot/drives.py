"""Judges what Ignition does to drives: it must erase neither the system nor data of others.

Ignition runs its partitioning, its RAID and its file systems at the first boot of each new
installation (docs/operator-notes.md of coreos/ignition): it passes over nothing that it is told to
wipe, and makes a file system on any drive without one, also on one with a partition table.
"""

import re
from collections.abc import Iterator

from ignition.boot import parsing
from ignition.boot.config import BootConfig
from ignition.boot.parsing import Json

# of the partitions of Flatcar's image: disk_layout.json of flatcar/scripts
SYSTEM = parsing.names(
    "EFI-SYSTEM BIOS-BOOT USR-A USR-B ROOT-C OEM OEM-CONFIG ROOT coreos-reserved"
)
# /dev/sda may be any drive at the next boot, also the one with the system
_KERNEL_NAME = re.compile(
    r"/dev/(sd[a-z]+\d*|vd[a-z]+\d*|xvd[a-z]+\d*|hd[a-z]+\d*|nvme\d+n\d+(p\d+)?|mmcblk\d+(p\d+)?|dm-\d+)"
)
_LABEL = re.compile(r"/dev/disk/by-(?:label|partlabel)/(.+)")
_TYPE = re.compile(r"/dev/disk/by-(?:parttypeuuid|diskseq)/")
_PLACES = (
    "/",
    "/usr",
    "/etc",
    "/opt",
    "/boot",
    "/run",
    "/dev",
    "/proc",
    "/sys",
    "/var/lib/systemd",
)
# commands that erase a drive without asking what is on it
_ERASES = re.compile(
    r"\bwipefs\b[^\n;|&]*\s(?:-\w*a\w*|--all|-\w*f\w*|--force)\b"
    r"|\bsgdisk\b[^\n;|&]*\s(?:-Z|-z|-o|--zap\S*|--clear)\b|\bblkdiscard\b|\bshred\b"
    r"|\bdd\b[^\n;|&]*\bof=[\"']?/dev/(?!null\b)|\bmdadm\b[^\n;|&]*--zero-superblock"
    r"|\bmkfs\.(?:xfs|btrfs)\b[^\n;|&]*\s(?:-f|--force)\b|\bmkfs\.ext[234]\b[^\n;|&]*\s-\w*F"
    r"|\bmkfs\b[^\n;|&]*\s-\w*[fF]\b|\bnvme\s+(?:format|sanitize|delete-ns)\b|\bhdparm\b[^\n;|&]*--security-erase"
    r"|\bparted\b[^\n;|&]*\bmklabel\b|\bcryptsetup\b[^\n;|&]*\b(?:luksFormat|erase)\b|\bpvcreate\b[^\n;|&]*\s-ff"
    r"|>\s*/dev/(?:sd|vd|xvd|nvme|md|disk)"
)


def check(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` what would erase the system's drive or data."""
    problems += _disks(config)
    problems += _arrays(config)
    for kind, wipe in (("filesystems", "wipeFilesystem"), ("luks", "wipeVolume")):
        for item in parsing.mappings(config.storage.get(kind)):
            problems += _volume(kind, item, wipe)
    for name, said in config.commands.items():
        if found := _ERASES.search(said):
            word = found[0].split()[0].strip("<>") or "a redirection"
            problems.append(
                f"{name} runs {word} in a form that erases a drive, whatever is on it; look for an "
                "empty drive and make the file system without force"
            )


def _disks(config: BootConfig) -> Iterator[str]:
    for disk in parsing.mappings(config.storage.get("disks")):
        device = str(disk.get("device") or "")
        yield from _named("storage.disks", device)
        if disk.get("wipeTable"):
            yield (
                f"storage.disks: wipeTable erases {device} and all data on it at each "
                "installation; "
                "remove it, an empty drive gets a partition table without it"
            )
        for partition in parsing.mappings(disk.get("partitions")):
            label = str(partition.get("label") or partition.get("number") or "")
            if partition.get("wipePartitionEntry") or partition.get("shouldExist") is False:
                yield (
                    f"storage.disks: {device} loses its partition {parsing.shown(label)} and what "
                    "is on it at each installation; remove wipePartitionEntry and shouldExist"
                )


def _arrays(config: BootConfig) -> Iterator[str]:
    for array in parsing.mappings(config.storage.get("raid")):
        members = array.get("devices")
        for device in members if isinstance(members, list) else ():
            yield from _named(f"the array {array.get('name')}", str(device))


def _volume(kind: str, item: Json, wipe: str) -> Iterator[str]:
    device, path = str(item.get("device") or ""), str(item.get("path") or "")
    place = f"storage.{kind}"
    yield from _named(place, device, wiped=bool(item.get(wipe)))
    if item.get("label") in SYSTEM and not _system(device):
        yield (
            f"{place}: {device} is labelled {item['label']} like a partition of the system, "
            "which is "
            "then not found; rename it"
        )
    if path in _PLACES:
        yield f"{place}: {device} is mounted at {path}, over what the system has there; move it"


def _named(place: str, device: str, *, wiped: bool = True) -> Iterator[str]:
    """Yield why a device may be another drive than is meant; `wiped` where it loses its data."""
    if _KERNEL_NAME.fullmatch(device) or _TYPE.match(device):
        yield (
            f"{place}: {device} is another drive at another boot, and may be the system's; name "
            "one "
            "drive, by /dev/disk/by-id"
        )
    elif wiped and (label := _system(device)):
        yield f"{place}: {device} is the system's own {label}; leave it as it is"


def _system(device: str) -> str | None:
    """The label of the system's partition that a device is, None where it is no such."""
    label = _LABEL.fullmatch(device)
    return label[1] if label and label[1] in SYSTEM else None
