"""Judges updates: the OS is activated in turn and rolled back when bad, Kubernetes stays pinned."""

import posixpath
import re
from collections.abc import Iterator

from ignition.boot import parsing
from ignition.boot.config import BootConfig, Role
from ignition.boot.extensions import brought_driver, drivers
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
_FABRIC = re.compile(r"\bnvidia-fabricmanager\b|\bFabric\b")
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
    if own := brought_driver(config):
        bound.append(own.extension)
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
        if drivers(config) and "/proc/driver/nvidia" not in commands:
            yield f"{unit.name} does not look for the driver; test /proc/driver/nvidia/version"
        if "/etc/extensions/nvidia-fabricmanager.raw" in config.links and not re.search(
            _FABRIC, f"{commands} {' '.join(_scripts(commands, config))}"
        ):
            yield (
                f"{unit.name} does not look for Fabric Manager, without which CUDA starts on no "
                "GPU; let it run a script that asks for it"
            )


def _scripts(commands: str, config: BootConfig) -> Iterator[str]:
    """The texts of the scripts that commands run."""
    yield from (config.text(word) or "" for word in commands.split() if word.startswith("/opt/"))


def _kubernetes(config: BootConfig) -> Iterator[str]:
    """systemd-sysupdate would stage another patch release of Kubernetes than the pinned one."""
    for path in config.files:
        if path.startswith("/etc/sysupdate.kubernetes.d/"):
            yield f"{path} stages another patch release than the one that is linked; remove it"
    timer = config.units.get("systemd-sysupdate.timer")
    if timer is not None and timer.enabled and not timer.masked:
        yield (
            "systemd-sysupdate.timer is enabled, so that nodes move to a patch release of "
            "Kubernetes that nobody has rehearsed; mask it"
        )
    service = config.units.get("systemd-sysupdate.service")
    texts = (*service.dropins.values(), service.contents or "") if service else ()
    if any(_UPDATE.search(line.value) for text in texts for line in parse(text)):
        yield "systemd-sysupdate.service updates Kubernetes, which is pinned; remove its drop-in"
