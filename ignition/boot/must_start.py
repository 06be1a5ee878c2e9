"""Judges what the boot requires: where a target requires what is missing, the boot ends in a shell.

local-fs.target has OnFailure=emergency.target, and basic.target requires sysinit.target
(systemd.special(7)): a mount of a missing device that one of them requires leaves a machine without
network that nobody can reach.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping

from ignition.boot import parsing
from ignition.boot.config import BootConfig
from ignition.boot.drives import SYSTEM
from ignition.boot.parsing import shown
from ignition.boot.unit_syntax import Directive, parse, values

_ROOTS = parsing.names("""
    local-fs.target local-fs-pre.target sysinit.target basic.target multi-user.target default.target
    sockets.target paths.target network.target network-online.target remote-fs.target
    cryptsetup.target
    kubelet.service containerd.service dbus.service systemd-networkd.service
    systemd-resolved.service
    systemd-udevd.service systemd-journald.service systemd-sysext.service ensure-sysext.service
    systemd-logind.service nvidia.service swap.target kubeadm-join.service control-plane.service
    """)
_HARD = ("Requires", "Requisite", "BindsTo")
_INSTALLED = re.compile(r"(?:/etc|/usr/local/lib|/run)/systemd/system/([^/]+)\.requires/([^/]+)")
_MEMORY = parsing.names(
    "tmpfs ramfs proc sysfs devtmpfs overlay bind hugetlbfs debugfs tracefs configfs bpf "
    "cgroup2 mqueue securityfs fusectl"
)
_BROUGHT = parsing.names("""
    -.mount tmp.mount usr.mount boot.mount oem.mount usr-share-oem.mount media.mount
    dev-hugepages.mount dev-mqueue.mount sys-kernel-config.mount sys-kernel-debug.mount
    sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.mount var-lib-nfs-rpc_pipefs.mount
""")
_PLACES = (
    "/",
    "/usr",
    "/etc",
    "/opt",
    "/run",
    "/dev",
    "/proc",
    "/sys",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
)


def check(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` what the boot requires and nothing makes, and mounts over the system."""
    lines = {
        unit.name: tuple(
            line for text in (unit.contents or "", *unit.dropins.values()) for line in parse(text)
        )
        for unit in config.units.values()
        if not unit.masked
    }
    required = _required(config, lines)
    for name in sorted(required):
        problems += _missing(name, required[name], lines.get(name, ()), config)
    for name, found in lines.items():
        if name.endswith(".mount") and (where := "".join(values(found, "Where"))) in _PLACES:
            problems.append(
                f"{name} mounts over {where}, and hides what the system has there; move it"
            )
        if name.endswith(".swap") and config.units[name].enabled:
            problems.append(f"{name} turns on swap, with which kubelet does not start; remove it")
    problems += _table(config)


def _required(config: BootConfig, lines: Mapping[str, tuple[Directive, ...]]) -> Mapping[str, str]:
    """What cannot fail without the boot failing, and by whom each is required."""
    needs: dict[str, set[str]] = {}
    for name, found in lines.items():
        for key in _HARD:
            needs.setdefault(name, set()).update(" ".join(values(found, key)).split())
        for path in " ".join(values(found, "RequiresMountsFor")).split():
            unit = f"{parsing.escaped(path)}.mount"
            if unit in lines:
                needs[name].add(unit)
        if config.units[name].enabled:
            for other in " ".join(values(found, "RequiredBy")).split():
                needs.setdefault(other, set()).add(name)
    for path in (*config.links, *config.files):
        if place := _INSTALLED.fullmatch(path):
            needs.setdefault(place[1], set()).add(place[2])
    by: dict[str, str] = {}
    waiting = sorted(_ROOTS & needs.keys())
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        for other in needs.get(name, ()):
            by.setdefault(other, name)
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return by


def _missing(name: str, by: str, lines: tuple[Directive, ...], config: BootConfig) -> Iterator[str]:
    stem, _, kind = name.rpartition(".")
    if name not in config.units and kind in ("mount", "swap") and name not in _BROUGHT:
        yield f"{by} requires {name}, which nothing writes; write the unit or remove the dependency"
    elif kind in ("mount", "swap"):
        what = "".join(values(lines, "What"))
        makers = set(" ".join(values(lines, "Requires") + values(lines, "BindsTo")).split())
        ordered = set(" ".join(values(lines, "After")).split())
        if makers & ordered & config.units.keys():
            return
        if "".join(values(lines, "Type")) in _MEMORY or "bind" in "".join(
            values(lines, "Options")
        ).split(","):
            return
        if what and not made(what, config):
            yield (
                f"{by} requires {name}, and nothing makes {shown(what)}: without the device the "
                "machine "
                "stays in its emergency shell; make it, or let nothing require the mount"
            )
    elif kind == "device":
        path = "/" + re.sub(
            r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), stem.replace("-", "/")
        )
        if path.startswith("/dev/") and not made(path, config):
            yield (
                f"{by} requires {name}, which nothing makes: without the device the boot does "
                "not get "
                "there; remove the dependency"
            )


def made(what: str, config: BootConfig) -> bool:
    """Return whether Ignition, a unit or Flatcar's own image makes a device."""
    label = re.fullmatch(r"(?:(?:PART)?LABEL=|/dev/disk/by-(?:part)?label/)(.+)", what)
    if not label and not what.startswith(("/dev/", "UUID=", "PARTUUID=")):
        return what.startswith("/")  # a bind of a folder; host:/path is a network's
    storage = config.storage
    devices = {str(item.get("device")) for item in parsing.mappings(storage.get("filesystems"))}
    devices |= {f"/dev/md/{item.get('name')}" for item in parsing.mappings(storage.get("raid"))}
    devices |= {f"/dev/mapper/{item.get('name')}" for item in parsing.mappings(storage.get("luks"))}
    if what in devices:
        return True
    if label is None:
        return False
    labels = {str(item.get("label")) for item in parsing.mappings(storage.get("filesystems"))}
    for disk in parsing.mappings(storage.get("disks")):
        labels |= {str(item.get("label")) for item in parsing.mappings(disk.get("partitions"))}
    return label[1].strip('"') in labels | SYSTEM


def _table(config: BootConfig) -> Iterator[str]:
    """Judge /etc/fstab: local-fs.target requires each line of it without nofail or noauto."""
    for line in (config.text("/etc/fstab") or "").splitlines():
        fields = line.split()
        if len(fields) < 3 or fields[0].startswith("#"):
            continue
        what, where, kind = fields[:3]
        options = set(fields[3].split(",")) if len(fields) > 3 else set()
        if kind == "swap":
            yield "/etc/fstab turns on swap, with which kubelet does not start; remove the line"
        elif posixpath.normpath(where) in _PLACES:
            yield (
                f"/etc/fstab mounts over {where}, and hides what the system has there; remove the "
                "line"
            )
        elif (
            not options & {"nofail", "noauto", "bind", "_netdev"}
            and kind not in _MEMORY
            and not made(what, config)
        ):
            yield (
                f"/etc/fstab: local-fs.target requires {shown(where)}, and nothing makes "
                f"{shown(what)}: "
                "without the device the machine stays in its emergency shell; add nofail"
            )
