"""Judges units: each must be valid and enabled, and what it names and runs must exist."""

import posixpath
import re
from collections.abc import Iterator

from ignition.boot import needed_units, unit_order, unit_syntax
from ignition.boot.config import BootConfig, BootUnit
from ignition.boot.config_schema import UNIT
from ignition.boot.parsing import escaped, hint, names, nearest
from ignition.boot.unit_syntax import Directive, parse, values

# brought by Flatcar itself, so that a configuration may enable them without their text
_SHIPPED = names("""
    containerd.service coreos-metadata.service docker.service docker.socket iscsid.service
    multipathd.service nvidia.service rpcbind.service sshd.service sshd.socket
    systemd-networkd.service systemd-networkd-wait-online.service systemd-resolved.service
    systemd-sysctl.service systemd-sysext.service systemd-modules-load.service
    systemd-sysupdate.timer systemd-sysupdate.service systemd-timesyncd.service
    systemd-udevd.service systemd-udev-settle.service systemd-journald.service
    systemd-fsck@.service systemd-growfs@.service systemd-networkd-wait-online@.service
    update-engine.service locksmithd.service ensure-sysext.service systemd-tmpfiles-setup.service
    """)
# brought by the extensions that a node links, and never to be enabled by Ignition
_EXTENSIONS = names("kubelet.service nvidia-fabricmanager.service nvidia-persistenced.service")
_TARGETS = names("""
    multi-user.target basic.target sysinit.target network.target network-online.target
    network-pre.target local-fs.target local-fs-pre.target remote-fs.target timers.target
    sockets.target paths.target time-sync.target nss-lookup.target default.target
    graphical.target shutdown.target reboot.target cryptsetup.target swap.target kubernetes.target
    umount.target final.target
    """)
_BASE = _SHIPPED | _EXTENSIONS | _TARGETS
_NAMES = names("""
    After Before Wants Requires Requisite BindsTo PartOf Upholds Conflicts OnFailure OnSuccess
    WantedBy RequiredBy UpheldBy Also
    """)
_HARD = names("Requires Requisite BindsTo WantedBy RequiredBy UpheldBy Upholds Also")
_KNOWN_PROGRAMS = names("""
    curl test sh bash rm kubeadm kubelet kubectl modprobe setpci readlink touch cmp mdadm
    mkfs.xfs mkfs.ext4 xfs_quota systemctl udevadm cat echo env true false sleep mount umount
    cp mv ln mkdir chmod chown sysctl nvidia-smi nvidia-modprobe python3 ip wg ping
    containerd install systemd-sysupdate systemd-networkd-wait-online systemd-sysext
    systemd-tmpfiles flatcar-update coreos-metadata
""")
_PROGRAM = re.compile(r"[-@:+!|]*(\S+)")
_OURS = re.compile(r"(?<![\w.])(/opt/(?:bin|sbin|libexec|fleet)/[\w./@-]*\w)")


def check(config: BootConfig, problems: list[str]) -> None:
    """Add what is wrong with the units to `problems`."""
    known = _BASE | config.units.keys()
    texts: dict[str, tuple[Directive, ...]] = {}
    for unit in config.units.values():
        texts[unit.name] = lines = tuple(
            line for text in (unit.contents or "", *unit.dropins.values()) for line in parse(text)
        )
        problems += _state(unit, config)
        for text in (unit.contents or "", *unit.dropins.values()):
            problems += unit_syntax.problems(unit.name, text)
        problems += _service(unit, known)
        problems += _references(unit.name, lines, known)
        if unit.contents is None and unit.dropins:
            problems += _changed(unit, _BASE)
        problems += _programs(unit.name, lines, config)
    brought = frozenset(unit.name for unit in config.units.values() if unit.contents is None)
    problems += unit_order.circles(texts, brought)
    needed_units.check(config, _BASE, problems)


def _state(unit: BootUnit, config: BootConfig) -> Iterator[str]:
    if unit.masked and unit.enabled:
        yield f"{unit.name} is enabled and masked; choose one"
    if unit.enabled and unit.contents is None and unit.name not in _SHIPPED:
        yield f"{unit.name} is enabled, but neither written here nor part of Flatcar; write it"
    install = [line for line in parse(unit.contents or "") if line.section == "Install"]
    if unit.enabled and unit.contents is not None and not any(line.value for line in install):
        yield f"{unit.name} is enabled without an [Install] section, so nothing starts it; add one"
    if install and not unit.enabled and not unit.masked and not _named(unit.name, config):
        yield f"{unit.name} is written, but nothing enables it; set enabled to true"
    for name in unit.dropins:
        if not name.endswith(".conf"):
            yield f"{unit.name}: the drop-in {name} is not read; end its name in .conf"
    if unit.masked and (unit.contents or unit.dropins):
        yield f"{unit.name} is masked, so that nothing uses its text; unmask it or remove the text"
    if not (unit.contents or unit.dropins or unit.enabled or unit.masked):
        yield f"{unit.name} has neither text nor drop-in and is not enabled; remove the entry"


def _named(name: str, config: BootConfig) -> bool:
    """Return whether another unit names this one."""
    return any(
        name in text.split("[Install]")[0]
        for other in config.units.values()
        if other.name != name
        for text in (other.contents or "", *other.dropins.values())
    )


def _changed(unit: BootUnit, known: frozenset[str]) -> Iterator[str]:
    """Yield mistakes in drop-ins of a unit that the system or an extension brings."""
    if unit.name not in known and not unit.name.endswith(".device"):  # which udev brings
        right = hint(unit.name, known, "write the unit", cutoff=0.8)
        yield f"{unit.name} has a drop-in, but nothing brings the unit; {right}"
    starts = [
        line.value
        for name in sorted(unit.dropins)
        for line in parse(unit.dropins[name])
        if line.name == "ExecStart"
    ]
    if starts and "" not in starts:
        yield f"{unit.name} gets a second ExecStart; take back the first by an empty ExecStart="


def _service(unit: BootUnit, known: frozenset[str]) -> Iterator[str]:
    if unit.contents is None:
        return
    lines, kind = parse(unit.contents), unit.name.rpartition(".")[2]
    if kind == "service":
        if not any(line.section == "Service" and line.name == "ExecStart" for line in lines):
            yield f"{unit.name} has no ExecStart in [Service], and systemd refuses it; add one"
        oneshot = "oneshot" in values(lines, "Type")
        waits = oneshot or {"notify", "notify-reload", "forking", "dbus"} & set(
            values(lines, "Type")
        )
        for name in ("Before", "ExecStartPost"):
            if values(lines, name) and not waits:
                yield (
                    f"{unit.name}: {name}= does not wait for the end of ExecStart; set Type=oneshot"
                )
        if oneshot and {"always", "on-success"} & set(values(lines, "Restart")):
            yield f"{unit.name}: a oneshot cannot have Restart=always; write on-failure"
        if not oneshot and len(values(lines, "ExecStart")) > 1:
            yield f"{unit.name}: only a oneshot has several ExecStart; keep one or set its Type"
    if kind in ("timer", "path"):
        yield from _trigger(unit.name, kind, lines, known)
    if kind == "mount":
        where = "".join(values(lines, "Where"))
        right = escaped(where)
        if not values(lines, "What"):
            yield f"{unit.name} mounts nothing, and systemd refuses it; add What="
        if f"{right}.mount" != unit.name:
            yield f"{unit.name} mounts {where}, and systemd refuses it; name it {right}.mount"


def _trigger(
    name: str, kind: str, lines: tuple[Directive, ...], known: frozenset[str]
) -> Iterator[str]:
    """Yield mistakes in a timer or path unit, which starts another unit."""
    when, example = {"timer": ("On[A-Z]", "OnCalendar"), "path": ("Path|Directory", "PathChanged")}[
        kind
    ]
    if not any(re.match(when, line.name) and line.section != "Unit" for line in lines):
        yield f"{name} never starts anything, and systemd refuses it; add {example}"
    started = "".join(values(lines, "Unit")) or f"{name.removesuffix(kind)}service"
    if started not in known:
        yield f"{name} starts {started}, which nothing brings; write that unit"


def _references(unit: str, lines: tuple[Directive, ...], known: frozenset[str]) -> Iterator[str]:
    for line in lines:
        if line.name not in _NAMES:
            continue
        for name in line.value.split():
            bare = re.sub(r"@[^.]*\.", "@.", name)
            if name in known or bare in known or "%" in name or name.startswith("dev-"):
                continue
            near = nearest(name, known, cutoff=0.8)
            if not UNIT.fullmatch(name) or near:
                right = f"write {near}" if near else "correct it"
                yield f'{unit}: {line.name} names "{name}", which is no unit of the node; {right}'
            elif line.name in _HARD and not name.endswith((".mount", ".device", ".slice")):
                yield f'{unit}: {line.name} names "{name}", which nothing brings; write that unit'


def _programs(unit: str, lines: tuple[Directive, ...], config: BootConfig) -> Iterator[str]:
    for line in lines:
        if not line.name.startswith("Exec") or not line.value:
            continue
        program = _PROGRAM.match(line.value)
        name = program[1] if program else ""
        base = posixpath.basename(name)
        if name.startswith("/usr/") and base not in _KNOWN_PROGRAMS:
            near = nearest(base, _KNOWN_PROGRAMS, cutoff=0.75)
            if near:
                yield f"{unit}: {line.name} runs {name}, which the system lacks; run {near}"
        if "/" in name and not name.startswith(("/", "$", "%")):
            yield f"{unit}: {line.name} runs {name}, which is no absolute path; write it in full"
        for path in _OURS.findall(line.value):
            file = config.files.get(path)
            if file is None and path not in config.links:
                yield f"{unit} runs {path}, which nothing writes; add the file"
            elif file is not None and path == name and not file.mode & 0o111:
                yield f"{unit} runs {path}, which is not executable; give it the mode 0755"
            elif file is not None and path == name and file.text is not None:
                yield from _script(path, file.text)


def _script(path: str, text: str) -> Iterator[str]:
    if not text.startswith(("#!/", "\x7fELF", "PK")):
        yield f"{path} begins with no #! line, so the kernel cannot run it; add #!/usr/bin/bash"
