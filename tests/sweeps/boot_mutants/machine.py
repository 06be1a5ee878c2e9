"""Mutants that take the machine itself away: its boot, drives, network, units and scripts."""

from collections.abc import Iterator
from random import Random
from typing import Any

from ignition.boot.parsing import names as names_of
from tests.support.ignition.faults import encoded
from tests.sweeps.boot_mutants.bases import Base, Json, Kind

Mutants = Iterator[tuple[str, Json]]
_ARGUMENTS = sorted(
    names_of("""
    init=/bin/sh root=LABEL=other mem=4G maxcpus=2 single emergency rd.break acpi=off pci=off
    systemd.unit=emergency.target systemd.mask=dbus.service module_blacklist=virtio_net
    modprobe.blacklist=xfs,nvme cgroup_disable=cpuset flatcar.first_boot=1 rdinit=/bin/bash
    """)
)
_MODULES = ("overlay", "br_netfilter", "nvme", "virtio_net", "ena", "mlx5_core", "xfs", "loop")
_KEPT_OUT = ("install {} /bin/false", "blacklist {}", "install {} exit 1", "alias {} nouveau")
_MATCHES = ("Name=*", "Name=en* eth*", "Type=ether", "Name=!lo", "MACAddress=02:00:00:00:00:01")
_SILENT = ("DHCP=no", "LinkLocalAddressing=no", "DHCP=ipv6", "Address=10.0.0.9/24", "LLDP=yes")
_UNITS = (
    "systemd-networkd.service",
    "systemd-resolved.service",
    "systemd-udevd.service",
    "systemd-journald.service",
    "systemd-sysctl.service",
    "dbus.service",
    "dbus.socket",
    "network-online.target",
    "local-fs.target",
    "ensure-sysext.service",
)
_TARGETS = ("local-fs.target", "sysinit.target", "basic.target", "multi-user.target")
_MISSING = ("/dev/disk/by-label/lost", "LABEL=lost", "/dev/sdq1", "/dev/md/lost", "UUID=12-34")
_WIPES: tuple[tuple[str, Json], ...] = (
    ("disks", {"device": "/dev/nvme0n1", "wipeTable": True}),
    ("disks", {"device": "/dev/disk/by-id/x", "wipeTable": True}),
    ("disks", {"device": "/dev/vda", "partitions": [{"number": 9, "wipePartitionEntry": True}]}),
    ("filesystems", {"device": "/dev/sda9", "format": "ext4", "wipeFilesystem": True}),
    ("filesystems", {"device": "/dev/disk/by-label/ROOT", "format": "xfs", "wipeFilesystem": True}),
    ("raid", {"name": "x", "level": "raid1", "devices": ["/dev/sda", "/dev/sdb"]}),
)


def _with(base: Base, section: str, kind: str, **values: Any) -> Json:
    config = base.config()
    config.setdefault(section, {}).setdefault(kind, []).append(values)
    return config


def _file(base: Base, path: str, text: str) -> Json:
    return _with(base, "storage", "files", path=path, contents={"source": encoded(text)})


def argument(base: Base, random: Random) -> Mutants:
    chosen = random.choice(_ARGUMENTS)
    yield chosen, base.with_arguments([*base.arguments, chosen])


def module(base: Base, random: Random) -> Mutants:
    line = random.choice(_KEPT_OUT).format(random.choice(_MODULES))
    yield line, _file(base, "/etc/modprobe.d/zz.conf", f"{line}\n")


def network(base: Base, random: Random) -> Mutants:
    match, says = random.choice(_MATCHES), random.choice(_SILENT)
    text = f"[Match]\n{match}\n[Network]\n{says}\n"
    yield f"{match} {says}", _file(base, "/etc/systemd/network/00-a.network", text)


def names(base: Base, random: Random) -> Mutants:
    text = random.choice(("", "# nameserver 1.1.1.1\n", "search example.com\n", "nameserver\n"))
    yield repr(text), _file(base, "/etc/resolv.conf", text)


def mask(base: Base, random: Random) -> Mutants:
    name = random.choice(_UNITS)
    path = f"/etc/systemd/system/{name}"
    yield f"{name} by mask", _with(base, "systemd", "units", name=name, mask=True)
    yield f"{name} by link", _with(base, "storage", "links", path=path, target="/dev/null")
    yield f"{name} by file", _file(base, path, "")


def idle(base: Base, random: Random) -> Mutants:
    name = random.choice([each for each in _UNITS if each.endswith(".service")])
    text = random.choice(
        (
            "[Service]\nExecStart=\nExecStart=/usr/bin/false\n",
            "[Service]\nExecStart=\nExecStart=/bin/true\n",
            "[Service]\nExecStart=\n",
            "[Unit]\nConditionPathExists=/nowhere\n",
            "[Service]\nPrivateNetwork=yes\n",
        )
    )
    dropins = [{"name": "99-own.conf", "contents": text}]
    yield f"{name}: {text!r}", _with(base, "systemd", "units", name=name, dropins=dropins)


def mount(base: Base, random: Random) -> Mutants:
    what, by = random.choice(_MISSING), random.choice(_TARGETS)
    text = f"[Mount]\nWhat={what}\nWhere=/data\nType=xfs\n[Install]\nRequiredBy={by}\n"
    unit = {"name": "data.mount", "enabled": True, "contents": text}
    yield f"{what} by {by}", _with(base, "systemd", "units", **unit)
    yield f"{what} in fstab", _file(base, "/etc/fstab", f"{what} /data xfs defaults 0 0\n")


def wipe(base: Base, random: Random) -> Mutants:
    kind, values = random.choice(_WIPES)
    yield f"{kind} {values}", _with(base, "storage", kind, **values)


def script(base: Base, random: Random) -> Mutants:
    scripts = [path for path, text in base.texts.items() if text.startswith("#!")]
    if not scripts:
        return
    path = random.choice(scripts)
    text = base.texts[path]
    first, rest = text.split("\n", 1)
    yield f"{path}: carriage returns", base.with_text(path, text.replace("\n", "\r\n"))
    yield f"{path}: false", base.with_text(path, f"{first}\nfalse\n{rest}")
    yield f"{path}: exit", base.with_text(path, f"{first}\nexit 0\n{rest}")
    yield f"{path}: quote", base.with_text(path, f"{text}\necho 'open\n")
    yield f"{path}: bracket", base.with_text(path, f"{text}\nif true; then\n")
    yield f"{path}: interpreter", base.with_text(path, f"#!/usr/bin/bsah\n{rest}")


KINDS: dict[str, Kind] = {
    "argument that stops the boot": argument,
    "module kept out": module,
    "network taken away": network,
    "nameservers taken away": names,
    "unit of the system masked": mask,
    "unit of the system idle": idle,
    "required drive missing": mount,
    "drive erased": wipe,
    "script broken": script,
}
