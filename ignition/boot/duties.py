"""What every node must do besides joining: forget stale state, update in turn, route pods."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ignition.boot import texts
from ignition.boot.config import BootConfig
from ignition.boot.unitfiles import parse, values

_STATE = ("cpu_manager_state", "memory_manager_state")
_UPDATE = re.compile(r"\bsystemd-sysupdate\b.*-C[= ]?kubernetes\b.*\bupdate\b")


def check(config: BootConfig, problems: list[str]) -> None:
    """Add the duties that nothing does to `problems`."""
    problems += _state(config)
    problems += _updates(config)
    locksmith = config.units.get("locksmithd.service")
    if locksmith is None or not locksmith.masked:
        problems.append(
            "locksmithd.service reboots the node beside kured, under running jobs; mask it"
        )
    engine = config.units.get("update-engine.service")
    if engine is not None and engine.masked:
        problems.append(
            "update-engine.service is masked, so that no update of Flatcar arrives; unmask it"
        )


def _state(config: BootConfig) -> Iterator[str]:
    """kubelet does not start on state that another policy or another CPU set left behind."""
    for unit in config.units.values():
        lines = parse(unit.contents or "")
        commands = " ".join(line.value for line in lines if line.name.startswith("Exec"))
        scripts = [config.text(word) or "" for word in texts.words(commands) if "/" in word]
        said = " ".join((commands, *scripts))
        if not all(name in said for name in _STATE):
            continue
        before = " ".join(values(lines, "Before")).split()
        started = " ".join(values(lines, "RequiredBy") + values(lines, "WantedBy")).split()
        if "kubelet.service" not in before:
            yield f"{unit.name} removes kubelet's state too late; add Before=kubelet.service"
        if "kubelet.service" not in started:
            yield f"{unit.name} may fail and kubelet starts; add RequiredBy=kubelet.service"
        if not unit.enabled:
            yield f"{unit.name} removes kubelet's stale state, but is not enabled; enable it"
        if not re.search(r"\brm\b", said):
            yield f"{unit.name} names kubelet's state files and removes neither; run rm on them"
        return
    yield (
        "nothing removes cpu_manager_state and memory_manager_state, and kubelet does not start on "
        "those of another plan; add a unit before kubelet.service that does"
    )


def _updates(config: BootConfig) -> Iterator[str]:
    """Patch releases of Kubernetes: staged by systemd-sysupdate, taken into use by kured."""
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
    linked = PurePosixPath(config.links.get("/etc/extensions/kubernetes.raw", "")).name
    minor = re.match(r"kubernetes-(v\d+\.\d+)\.", linked)
    for path in transfers:
        file = config.files[path]
        if minor and (minor[1] not in path or f"{minor[1]}." not in f"{file.source}."):
            yield f"{path} updates another minor than {linked}; take the one of {minor[1]}"


def _compared(commands: list[str]) -> str:
    """What stands behind cmp in the commands."""
    return " ".join(match for each in commands for match in re.findall(r"\bcmp\b([^;|&]*)", each))
