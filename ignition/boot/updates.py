"""Judges updates of Kubernetes and of the OS: staged, activated in turn, rolled back when bad."""

import posixpath
import re
from collections.abc import Iterator

from ignition.boot import parsing
from ignition.boot.config import BootConfig, Role
from ignition.boot.unit_syntax import Directive, parse, values

_UPDATE = re.compile(r"\bsystemd-sysupdate\b.*-C[= ]?kubernetes\b.*\bupdate\b")
_OS = "/etc/flatcar/update.conf"
_SETTINGS: dict[str, str] = {
    "GROUP": r"stable|beta|alpha|lts(-\d+)?",
    "SERVER": r"disabled|https://\S+",
    "REBOOT_STRATEGY": r"reboot|etcd-lock|off",
    "LOCKSMITHD_REBOOT_WINDOW_START": r'"?((Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d\d:\d\d"?',
    "LOCKSMITHD_REBOOT_WINDOW_LENGTH": r'"?(\d+(h|m|s))+"?',
    "MACHINE_ALIAS": r".*",
    "DOWNLOAD_USER": r".*",
    "DOWNLOAD_PASSWORD": r".*",
    "PCR_POLICY_SERVER": r".*",
}
# extensions that are made for one release of the OS: a kernel module, the driver's other half
_BOUND = ("/etc/extensions/efa.raw", "/etc/extensions/nvidia-fabricmanager.raw")
_HEALTHY = {
    "node": r":10248/healthz",
    "control-plane": r":10248/healthz",
    "gateway": r"wait-online|\bwg\b|ping",
}


def check(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` what keeps updates from arriving or from being rolled back."""
    role = config.role
    if role != "gateway":
        problems += _kubernetes(config)
    given = dict(parsing.settings(config.text(_OS) or ""))
    for name, value in given.items():
        if name not in _SETTINGS:
            problems.append(
                f"{_OS}: nobody reads {parsing.shown(name)}; write one of {', '.join(_SETTINGS)}"
            )
        elif not re.fullmatch(_SETTINGS[name], value or ""):
            problems.append(
                f'{_OS}: {name}="{parsing.shown(value or "")}" has no meaning there; correct it'
            )
    problems += _reboots(config, given, role)
    problems += _healthy(config, role)


def _reboots(config: BootConfig, given: dict[str, str | None], role: Role) -> Iterator[str]:
    locksmith = config.units.get("locksmithd.service")
    masked = locksmith is not None and locksmith.masked
    if role != "gateway" and not masked:
        yield "locksmithd.service reboots the node beside kured, under running jobs; mask it"
    if role == "gateway":
        window = "LOCKSMITHD_REBOOT_WINDOW_START" in given
        if masked or given.get("REBOOT_STRATEGY") == "off":
            yield "no kured reboots a gateway, so locksmithd must; unmask it and set its strategy"
        if not window or "LOCKSMITHD_REBOOT_WINDOW_LENGTH" not in given:
            yield f"{_OS} has no whole reboot window, so the link goes at any time; add it"
    engine = config.units.get("update-engine.service")
    if engine is not None and engine.masked:
        yield "update-engine.service is masked, so that no update of Flatcar arrives; unmask it"
    bound = [posixpath.basename(path) for path in _BOUND if path in config.links]
    if bound and given.get("SERVER") != "disabled":
        yield (
            f"{bound[0]} fits one release of Flatcar alone, and the node updates itself; "
            f"set SERVER=disabled in {_OS}"
        )


def _healthy(config: BootConfig, role: Role) -> Iterator[str]:
    """A health check must hold back update-engine, which marks the new release as good for GRUB."""
    engine = config.units.get("update-engine.service")
    lines: tuple[Directive, ...] = ()
    if engine is not None:
        lines = tuple(line for text in engine.dropins.values() for line in parse(text))
    required = set(" ".join(values(lines, "Requires")).split())
    after = set(" ".join(values(lines, "After")).split())
    checks = [config.units[name] for name in sorted(required) if name in config.units]
    if not checks:
        yield (
            "update-engine.service marks each release as good, also one that brings up no healthy "
            "node; let it require a unit that looks"
        )
    for unit in checks:
        text = parse(unit.contents or "")
        commands = " ".join(values(text, "ExecStart"))
        if unit.name not in after:
            yield f"update-engine.service does not wait for {unit.name}; add it to After="
        if "oneshot" not in values(text, "Type"):
            yield f"{unit.name} is good before it has looked; set Type=oneshot"
        if not re.search(_HEALTHY[role], commands):
            yield f"{unit.name} does not look whether the machine does its work; let it ask"
        joined = "/etc/kubernetes/kubelet.conf"
        if role != "gateway" and joined not in values(text, "ConditionPathExists"):
            yield f"{unit.name} fails before the node has joined; add ConditionPathExists={joined}"
        if _has_driver(config) and "/proc/driver/nvidia" not in commands:
            yield f"{unit.name} does not look for the driver; test /proc/driver/nvidia/version"


def _has_driver(config: BootConfig) -> bool:
    return "nvidia-drivers-" in (config.text("/etc/flatcar/enabled-sysext.conf") or "")


def _kubernetes(config: BootConfig) -> Iterator[str]:
    """systemd-sysupdate must stage patch releases of Kubernetes and ask kured for a reboot."""
    transfers = [path for path in config.files if path.startswith("/etc/sysupdate.kubernetes.d/")]
    timer = config.units.get("systemd-sysupdate.timer")
    service = config.units.get("systemd-sysupdate.service")
    if not transfers and timer is None and service is None:
        return
    if not any(path.endswith((".conf", ".transfer")) for path in transfers):
        yield "no file of /etc/sysupdate.kubernetes.d ends in .conf, so nothing is updated; add it"
    if service is not None and service.masked:
        yield "systemd-sysupdate.service is masked, so Kubernetes is never updated; unmask it"
    if timer is None or not timer.enabled or timer.masked:
        yield "systemd-sysupdate.timer is not enabled, so Kubernetes is never updated; enable it"
    said = "\n".join(service.dropins.values()) if service else ""
    commands = [line.value for line in parse(said) if line.name.startswith("Exec")]
    if not any(_UPDATE.search(command) for command in commands):
        yield (
            "systemd-sysupdate.service does not update Kubernetes; add a drop-in that runs "
            "systemd-sysupdate -C kubernetes update"
        )
    for read in re.findall(r"/\w+/[\w-]+", _compared(commands)):
        if not any(re.search(rf">\s*{re.escape(read)}\b(?!-)", command) for command in commands):
            yield f"systemd-sysupdate.service compares {read}, which it never writes; write it"
    if not any("/run/reboot-required" in command for command in commands):
        yield (
            "systemd-sysupdate.service does not ask for a reboot after an update; touch "
            "/run/reboot-required, which kured waits for"
        )
    if not any(path.startswith("/etc/sysupdate.d/") for path in config.files):
        yield (
            "/etc/sysupdate.d is empty, and systemd-sysupdate fails without a definition; write "
            "noop.conf there"
        )
    linked = posixpath.basename(config.links.get("/etc/extensions/kubernetes.raw", ""))
    minor = re.match(r"kubernetes-(v\d+\.\d+)\.", linked)
    for path in transfers:
        file = config.files[path]
        if minor and (minor[1] not in path or f"{minor[1]}." not in f"{file.source}."):
            yield f"{path} updates another minor than {linked}; take the one of {minor[1]}"


def _compared(commands: list[str]) -> str:
    """The arguments of cmp in the commands."""
    return " ".join(match for each in commands for match in re.findall(r"\bcmp\b([^;|&]*)", each))
