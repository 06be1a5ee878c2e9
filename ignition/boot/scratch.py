"""Judges local drives: /scratch for jobs, with quotas, and file systems that Ignition makes."""

import re
from collections.abc import Iterator

from hardware.catalogue import Hardware
from ignition.boot import parsing
from ignition.boot.config import BootConfig, BootUnit
from ignition.boot.unit_syntax import Directive, parse, values

_MOUNT = "scratch.mount"
_FORMATS = ("ext4", "xfs", "btrfs", "vfat", "swap", "none")
_SYSTEM = ("ROOT", "OEM", "USR-A", "USR-B", "EFI-SYSTEM")


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> None:
    """Add to `problems` what keeps jobs from the drives or fills the system disk."""
    mount = config.units.get(_MOUNT)
    lines = parse(mount.contents or "") if mount else ()
    if not any(line.name == "Where" for line in lines):
        if hardware.nvme_gib:
            problems.append(
                f"{hardware.name} has {hardware.nvme_gib} GiB of NVMe that nothing mounts, so jobs "
                f"fill the system disk; write {_MOUNT}"
            )
        return
    problems += _mount(lines, config)
    problems += _quotas(lines, config)


def filesystems(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` the mistakes in file systems and arrays that Ignition makes."""
    problems += _filesystems(config)


def _words(lines: tuple[Directive, ...], *names: str) -> set[str]:
    return set(" ".join(text for name in names for text in values(lines, name)).split())


def _mount(lines: tuple[Directive, ...], config: BootConfig) -> Iterator[str]:
    if "kubelet.service" not in _words(lines, "Before"):
        yield f"{_MOUNT} may come after kubelet, whose pods then fill the disk; add it to Before="
    if "kubelet.service" not in _words(lines, "RequiredBy"):
        yield f"kubelet starts without {_MOUNT}, and pods fill the system disk; add RequiredBy="
    if not config.units[_MOUNT].enabled:
        yield f"{_MOUNT} is not enabled, so jobs fill the system disk; enable it"
    what = "".join(values(lines, "What"))
    if not what.startswith(("/dev/", "LABEL=", "UUID=")):
        yield f'{_MOUNT} mounts "{what}", which is no device; write What=/dev/…'
    makers = _words(lines, "Requires", "BindsTo") & _words(lines, "After")
    made = [config.units[name] for name in makers if name in config.units]
    in_ignition = [
        str(item.get("label"))
        for item in parsing.mappings(config.storage.get("filesystems"))
        if item.get("label")
    ]
    if not made and not any(what.endswith(label) for label in in_ignition):
        yield f"nothing makes {what} before {_MOUNT}; let it require a unit that does, and wait"
    for unit in made:
        if unit.name.endswith(".service") and "oneshot" not in values(
            parse(unit.contents or ""), "Type"
        ):
            yield f"{unit.name} is done before the array is; set Type=oneshot"
    yield from _patience(what, made, config)


def _patience(what: str, makers: list[BootUnit], config: BootConfig) -> Iterator[str]:
    """A device has 90 s to appear (systemd-system.conf(5), DefaultDeviceTimeoutSec=).

    They begin when the device's job starts, which After= puts off.
    """
    if not makers or not what.startswith("/dev/"):
        return
    name = f"{parsing.escaped(what)}.device"
    unit = config.units.get(name)
    texts = (unit.contents or "", *unit.dropins.values()) if unit else ()
    awaited = {word for text in texts for word in _words(parse(text), "After")}
    if not awaited & {maker.name for maker in makers}:
        yield (
            f"{name} has 90 s from the start of the machine, in which {makers[0].name} may not be "
            f"done; give it a drop-in with After={makers[0].name}"
        )


def _quotas(lines: tuple[Directive, ...], config: BootConfig) -> Iterator[str]:
    """Project quotas, set on each new directory, must keep one job from filling the array."""
    options = set(",".join(values(lines, "Options")).split(","))
    setters = [unit for unit in config.units.values() if "xfs_quota" in config.commands[unit.name]]
    if not options & {"prjquota", "pquota"}:
        yield f"{_MOUNT} counts no quotas, so one job fills the array; add prjquota to Options="
    names = {unit.name.removesuffix(".service") for unit in setters}
    watchers = [
        unit
        for unit in config.units.values()
        if unit.name.endswith((".path", ".timer")) and unit.name.rpartition(".")[0] in names
    ]
    if not any(unit.enabled for unit in watchers):
        yield "no directory below /scratch gets a quota; write a .path unit that sets them"
    for unit in (*setters, *watchers):
        text = parse(unit.contents or "")
        paths = values(text, "PathChanged") + values(text, "PathModified")
        if unit.name.endswith(".path") and not any(path.startswith("/scratch") for path in paths):
            yield f"{unit.name} does not watch /scratch; add PathChanged=/scratch"
        mounts = _words(text, "RequiresMountsFor")
        if "/scratch" in mounts:
            continue
        for name in ("Requires", "After"):
            if _MOUNT not in _words(text, name, *(("BindsTo",) if name == "Requires" else ())):
                yield f"{unit.name} may see /scratch before it is mounted; add {name}={_MOUNT}"


def _filesystems(config: BootConfig) -> Iterator[str]:
    for item in parsing.mappings(config.storage.get("filesystems")):
        device, path = str(item.get("device") or ""), str(item.get("path") or "")
        if not device.startswith("/dev/"):
            yield f'the file system on "{device}" is on no device; write /dev/…'
        if item.get("format") not in _FORMATS:
            yield f'{device} has the format "{item.get("format")}"; use {", ".join(_FORMATS)}'
        if item.get("label") in _SYSTEM and item.get("wipeFilesystem"):
            yield f"{device} is wiped and called {item['label']} like a system disk; rename it"
        unit = f"{parsing.escaped(path)}.mount"
        if path and path != "/" and not _mounted(unit, config):
            yield f"{path} on {device} is made, but not mounted at the next boot; write {unit}"
        elif path and path != "/" and device not in (config.units[unit].contents or ""):
            yield f"{unit} mounts another device than {device}, which {path} is made on; use one"
    for item in parsing.mappings(config.storage.get("raid")):
        devices = item.get("devices")
        count = len(devices) if isinstance(devices, list) else 0
        if count < 2 or len(set(map(str, devices if isinstance(devices, list) else ()))) < count:
            yield f"the array {item.get('name')} needs two or more different devices; name them"
        if not re.fullmatch(r"(raid)?(0|1|5|6|10)|linear|stripe|mirror", str(item.get("level"))):
            yield f'the array {item.get("name")} has the level "{item.get("level")}"; write raid0'


def _mounted(name: str, config: BootConfig) -> bool:
    unit = config.units.get(name)
    return unit is not None and bool(unit.contents) and unit.enabled and not unit.masked
