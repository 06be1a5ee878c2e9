"""Judges the units that run before kubelet: they remove stale state and clear PCIe ACS."""

import re
from collections.abc import Iterator

from ignition.boot.config import BootConfig
from ignition.boot.unit_syntax import parse, values

_STATE = ("cpu_manager_state", "memory_manager_state")


def check(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` what no unit does before kubelet starts."""
    problems += _state(config)
    problems += _access_control(config)


def _state(config: BootConfig) -> Iterator[str]:
    """kubelet does not start on state that another policy or another CPU set left behind."""
    for unit in config.units.values():
        said = config.commands[unit.name]
        if not all(name in said for name in _STATE):
            continue
        lines = parse(unit.contents or "")
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


def _access_control(config: BootConfig) -> Iterator[str]:
    """PCIe access control must be cleared before pods use the GPUs."""
    for unit in config.units.values():
        said = config.commands[unit.name]
        does = {"ECAP_ACS": "clears access control", "modprobe ": "loads a driver"}
        for word, deed in does.items():
            if word in said and "kubelet.service" not in " ".join(
                values(parse(unit.contents or ""), "Before")
            ):
                yield f"{unit.name} {deed} under pods; add Before=kubelet.service"
