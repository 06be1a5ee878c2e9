"""Judges what a configuration does to the system's own units: those that a node needs must start.

A unit is taken away by a mask, by a link to /dev/null or an empty file in its place (all three are
masks to systemd), by text that replaces it, by a drop-in with which it does nothing, or by a
command that stops it. Which unit a node can be without is listed; a mask of any other is refused.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping

from ignition.boot import parsing
from ignition.boot.config import BootConfig
from ignition.boot.parsing import names, shown
from ignition.boot.unit_syntax import Directive, parse, values

_FOLDER = re.compile(
    r"(?:/etc|/run|/usr/local/lib)/systemd/system(?:\.control|\.attached)?/([^/]+)"
)
_DROPIN = re.compile(
    r"(?:/etc|/run|/usr/local/lib)/systemd/system(?:\.control)?/([^/]+)\.d/[^/]+\.conf"
)
_SPARE = names("""
    irqbalance.service locksmithd.service docker.service docker.socket podman.service podman.socket
    multipathd.service multipathd.socket iscsid.service iscsid.socket iscsi.service
    iscsi-init.service
    iscsiuio.service iscsiuio.socket
    rpcbind.service rpcbind.socket rpc-statd.service rpc-statd-notify.service nfs-client.target
    nfs-server.service nfs-mountd.service nfs-idmapd.service nfs-blkmap.service gssproxy.service
    sshd.service sshd.socket sshd-keygen.service update-engine.service update-engine-stub.service
    update-engine-stub.timer motdgen.service motdgen.path issuegen.service
    systemd-networkd-wait-online.service systemd-networkd-wait-online@.service
    systemd-timesyncd.service systemd-time-wait-sync.service chronyd.service ntpd.service
    ntpdate.service
    systemd-userdbd.service systemd-userdbd.socket systemd-homed.service systemd-oomd.service
    systemd-oomd.socket systemd-sysupdate.timer systemd-sysupdate.service
    systemd-sysupdate-reboot.timer
    systemd-sysupdate-reboot.service systemd-pstore.service systemd-coredump.socket
    systemd-bsod.service
    systemd-firstboot.service systemd-boot-update.service
    systemd-journal-gatewayd.service systemd-journal-gatewayd.socket systemd-journal-remote.socket
    systemd-journal-upload.service systemd-rfkill.service systemd-rfkill.socket
    systemd-backlight@.service systemd-hibernate-resume.service systemd-suspend.service
    systemd-hibernate.service systemd-hybrid-sleep.service systemd-suspend-then-hibernate.service
    systemd-vconsole-setup.service systemd-ask-password-console.path systemd-ask-password-wall.path
    systemd-mountfsd.socket systemd-nsresourced.socket systemd-update-utmp.service
    sleep.target suspend.target hibernate.target hybrid-sleep.target suspend-then-hibernate.target
    ctrl-alt-del.target getty.target getty@.service serial-getty@.service console-getty.service
    debug-shell.service emergency.service rescue.service autovt@.service
    mdmonitor.service mdcheck_start.timer mdcheck_continue.timer smartd.service smb.service
    lvm2-monitor.service lvm2-lvmpolld.service lvm2-lvmpolld.socket dm-event.service dm-event.socket
    audit-rules.service auditd.service systemd-journald-audit.socket logrotate.service
    logrotate.timer
    man-db.timer fstrim.service fstrim.timer e2scrub_all.timer systemd-tmpfiles-clean.timer
    tcsd.service tpm2-abrmd.service var-lib-nfs-rpc_pipefs.mount sys-kernel-debug.mount
    sys-kernel-tracing.mount proc-sys-fs-binfmt_misc.automount systemd-binfmt.service
    swap.target remote-cryptsetup.target remote-veritysetup.target nvidia-powerd.service
    vmtoolsd.service waagent.service google-guest-agent.service qemu-guest-agent.service
    amazon-ssm-agent.service
""")
_PROGRAMS_OF_NOTHING = names("false true : sleep echo test [ exit cat printf")
# written or made at run time, so that a condition on them can hold
_APPEARS = (
    "/etc/kubernetes/",
    "/var/lib/kubelet/",
    "/run/",
    "/proc/",
    "/sys/",
    "/dev/nvidia",
    "/var/lib/etcd",
)
_ACTIONS = names("FailureAction SuccessAction StartLimitAction JobTimeoutAction")
_OFF = names(
    "PrivateNetwork RootDirectory RootImage User DynamicUser RefuseManualStart PrivateUsers"
)
_NO = names("no false off 0")
_STOPS = re.compile(
    r"\bsystemctl\b[^\n;|&]*\s(mask|disable|stop|kill|revert|set-default)\s+((?:[^\n;|&]+))"
)
_UNLOADS = re.compile(r"\b(?:rmmod|modprobe\s+(?:-\w*r\w*|--remove))\s+([\w-]+)")
_DOWN = re.compile(
    r"\bip\s+(?:-\S+\s+)*link\s+set\s+(?:dev\s+)?(?!wg|lo\b)\S+\s+down\b|\bnetworkctl\s+down\b|\bifconfig\s+\S+\s+down\b"
)
_ENDS = re.compile(
    r"^(?:\S*/)?(?:reboot|poweroff|halt|shutdown|kexec)\b|^(?:\S*/)?systemctl\s+(?:-\S+\s+)*"
    r"(?:reboot|poweroff|halt|kexec|rescue|emergency|isolate|default|soft-reboot)\b"
)
_CLOSES = re.compile(
    r"\bip6?tables\b[^\n;|&]*\s(?:-P|--policy)\s+\w+\s+(?:DROP|REJECT)\b"
    r"|\bnft\b[^\n]*\bpolicy\s+drop\b"
)
_TESTS = re.compile(r"(?:\S*/)?(?:test|\[)\s+-[efdsxrL]\s+(\S+)")
# what Conflicts= may name: units that end the others at a shutdown
_LATE = names(
    "shutdown.target umount.target reboot.target poweroff.target halt.target final.target"
)
_KEPT = (
    "/etc/systemd",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/kubernetes",
    "/etc/extensions",
    "/etc/flatcar",
    "/etc/containerd",
    "/opt",
    "/usr",
    "/dev",
    "/var/lib/kubelet",
    "/var/lib/etcd",
    "/var/lib/containerd",
    "/run/systemd",
    "/etc/modprobe.d",
    "/etc/sysctl.d",
    "/boot",
    "/oem",
)
_DEFAULTS = names("multi-user.target graphical.target")


def check(config: BootConfig, brought: frozenset[str], problems: list[str]) -> None:
    """Add to `problems` what keeps a unit that the system brings from its work."""
    for name, how in _masks(config).items():
        if not _spare(name):
            problems.append(
                f"{name} is masked {how}, and no node is known to come up and work without it; "
                "remove "
                "the mask"
            )
    for unit in config.units.values():
        if unit.contents is not None and unit.name in brought:
            problems.append(
                f"{unit.name} is written anew, over the one that the system brings; write a "
                "drop-in "
                "with what differs"
            )
        problems += _nothing(unit.name, parse(unit.contents or ""))
    for name, lines in _changes(config).items():
        problems += _nothing(name, lines)
        if name not in config.units or config.units[name].contents is None:
            problems += _idle(name, lines, config)
    problems += _default(config)
    for name, said in config.commands.items():
        problems += _commands(name, said)
    for path, file in sorted(config.files.items()):
        if path.startswith("/etc/tmpfiles.d/"):
            problems += _temporary(path, file.text or "")
    problems += (
        f"{path} is a folder of the system and points at {target}; remove the link"
        for path, target in config.links.items()
        if path in _KEPT or f"{path}/" in ("/etc/", "/var/", "/var/lib/", "/etc/systemd/network/")
    )


def _masks(config: BootConfig) -> Mapping[str, str]:
    """How each unit is masked, by its name."""
    found = {unit.name: "" for unit in config.units.values() if unit.masked}
    for path, target in config.links.items():
        place = _FOLDER.fullmatch(path)
        if place and (
            target == "/dev/null" or (place[1] not in config.units and _dangles(target, config))
        ):
            found[place[1]] = f"by the link {path} to {target}"
    for path, file in config.files.items():
        place = _FOLDER.fullmatch(path)
        if place and file.text is not None and not file.text.strip():
            found[place[1]] = f"by the empty file {path}"
    return {name: how.strip() or "by mask: true" for name, how in found.items()}


def _dangles(target: str, config: BootConfig) -> bool:
    return not target.startswith(("/usr/lib/", "/lib/", "..")) and target not in config.files


def _spare(name: str) -> bool:
    return name in _SPARE or re.sub(r"@[^.]*\.", "@.", name) in _SPARE


def _changes(config: BootConfig) -> Mapping[str, tuple[Directive, ...]]:
    """The lines that drop-ins add, by the unit's name, in the order of the drop-ins' names."""
    texts: dict[str, dict[str, str]] = {
        unit.name: dict(unit.dropins) for unit in config.units.values() if unit.dropins
    }
    for path, file in config.files.items():
        if place := _DROPIN.fullmatch(path):
            texts.setdefault(place[1], {})[posixpath.basename(path)] = file.text or ""
    return {
        name: tuple(line for part in sorted(found) for line in parse(found[part]))
        for name, found in texts.items()
    }


def _nothing(name: str, lines: tuple[Directive, ...]) -> Iterator[str]:
    """Yield the commands that always fail, and what ends the machine or what a node needs."""
    for line in lines:
        if line.name in _ACTIONS and line.value not in ("", "none"):
            yield f"{name}: {line.name}={shown(line.value)} ends the machine too; remove it"
        for other in line.value.split() if line.name == "Conflicts" else ():
            if other not in _LATE and not _spare(other):
                yield f"{name}: Conflicts={shown(other)} stops a unit that may be needed; remove it"
        words = parsing.words(line.value)
        if line.name in ("ExecStart", "ExecStartPre", "ExecStartPost", "ExecCondition") and words:
            program = posixpath.basename(words[0].lstrip("@:+!|"))
            if _ENDS.match(line.value.lstrip("-@:+!|")):
                yield f"{name}: {line.name} takes the machine down; remove the command"
            if program == "false":
                yield (
                    f"{name}: {line.name} runs false, so that the unit fails whenever it starts; "
                    "remove it"
                )


def _idle(name: str, lines: tuple[Directive, ...], config: BootConfig) -> Iterator[str]:
    """Yield how drop-ins of a unit that the system brings make it do nothing."""
    if _spare(name):
        return
    starts = [line.value for line in lines if line.name == "ExecStart"]
    if "" in starts:
        programs = [
            posixpath.basename(parsing.words(value)[0].lstrip("-@:+!|"))
            for value in values(lines, "ExecStart")
        ]
        if not set(programs) - _PROGRAMS_OF_NOTHING:
            yield (
                f"{name}: a drop-in takes its ExecStart away, so that it does nothing; give it back"
            )
    for line in lines:
        if line.name.startswith(("Condition", "Assert")) and line.value:
            yield from _condition(name, line.name, line.value, config)
        elif line.name in ("ExecStartPre", "ExecCondition") and (
            found := _TESTS.match(line.value.lstrip("@:+!|"))
        ):
            yield from _condition(name, line.name, found[1], config)
        elif line.name in _OFF and line.value and line.value.lower() not in _NO:
            yield (
                f"{name}: {line.name}={shown(line.value)} keeps it from what it does for the "
                "node; remove it"
            )


def _condition(name: str, key: str, value: str, config: BootConfig) -> Iterator[str]:
    path = value.lstrip("|")
    missing = path.startswith("!")
    path = path.lstrip("!")
    if key.startswith("Exec") or re.search("Path|File|Directory", key):
        written = any(
            each.startswith(path) for each in (*config.files, *config.links, *config.directories)
        )
        if path.startswith(_APPEARS) or written != missing:
            return
    yield (
        f"{name}: {key}={shown(value)} may never hold, and then the unit does not start; remove it"
    )


def _temporary(path: str, text: str) -> Iterator[str]:
    """Yield what systemd-tmpfiles removes or replaces of the system (tmpfiles.d(5))."""
    for line in text.splitlines():
        kind, _, rest = line.strip().partition(" ")
        words = rest.split()
        removes = kind[:1] in ("r", "R", "D") or (kind[:1] in ("L", "F", "f", "w") and "+" in kind)
        if words and removes and any(f"{words[0]}/".startswith(f"{kept}/") for kept in _KEPT):
            yield f"{path}: {kind} {words[0]} takes away what the system has there; remove the line"


def _default(config: BootConfig) -> Iterator[str]:
    for path, target in config.links.items():
        place = _FOLDER.fullmatch(path)
        if place and place[1] == "default.target" and posixpath.basename(target) not in _DEFAULTS:
            yield (
                f"{path} points at {target}, which starts no node; let it point at "
                "multi-user.target"
            )


def _commands(name: str, said: str) -> Iterator[str]:
    for verb, rest in _STOPS.findall(said):
        given = [word for word in rest.split() if not word.startswith("-")]
        for unit in given:
            full = unit if "." in unit else f"{unit}.service"
            if verb == "set-default" and full in _DEFAULTS:
                continue
            if not _spare(full) and re.fullmatch(r"[\w@.:-]+", unit):
                yield (
                    f"{name} runs systemctl {verb} {shown(unit)}, without which no node is "
                    "known to "
                    "work; remove the command"
                )
    for module in _UNLOADS.findall(said):
        yield f"{name} unloads the module {module}, which the machine may need; remove the command"
    if found := _CLOSES.search(said):
        yield f"{name} closes the machine's network ({found[0][:40]}); remove the command"
    if found := _DOWN.search(said):
        yield f"{name} takes a network card down ({found[0][:40]}); remove the command"
