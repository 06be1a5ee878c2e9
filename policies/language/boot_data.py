"""Reads the plain Ignition that a pool component gives to its machines, as files.

The rules read it as the machine would, so that a line which somebody has written by hand counts
like one from a template.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from hardware.catalogue import Hardware, HardwareError, load
from hardware.flatcar.own_driver import OwnDriver
from ignition.boot import extensions
from ignition.boot.config import BootConfig, BootUnit, ConfigError, read
from policies.language.manifest import at, describe
from policies.language.rule import Manifest, Settings

KIND = "gpu:pools:"
"""How the Pulumi types of pool components begin."""
KUBELET_FLAGS = "/etc/sysconfig/kubelet"
_NODE_LABELS = re.compile(r"--node-labels=([^\s\"']+)")


class ShippedError(ValueError):
    """Inputs of a pool that cannot be read; the text is what the pool must have."""


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """A pool's inputs, and its Ignition as the machine reads it."""

    hardware: Hardware
    inputs: Mapping[str, object]
    config: BootConfig


def judged(
    judge: Callable[[Shipped], list[str]],
) -> Callable[[Manifest, Settings], list[str]]:
    """Return a predicate that applies `judge` to the boot data of each pool component."""

    def violations(manifest: Manifest, _settings: Settings) -> list[str]:
        if not is_pool(manifest):
            return []
        try:
            faults = judge(of_pool(manifest))
        except ShippedError as error:
            faults = [str(error)]
        return [f"{describe(manifest)} must {fault}." for fault in faults]

    return violations


def is_pool(manifest: Manifest) -> bool:
    """Return whether this is a pool component with Ignition."""
    of_our_own = str(manifest.get("kind")).startswith(KIND)
    return of_our_own and at(manifest, "spec", "ignition") is not None


def of_pool(manifest: Manifest) -> Shipped:
    """Return the boot data of a pool component; raises ShippedError."""
    inputs = cast("Mapping[str, object]", manifest["spec"])
    try:
        hardware = load(str(inputs.get("hardware")))
    except HardwareError:
        raise ShippedError("name hardware of the catalogue") from None
    return Shipped(hardware=hardware, inputs=inputs, config=_config(str(inputs["ignition"])))


@lru_cache(maxsize=32)
def _config(text: str) -> BootConfig:
    try:
        return read(text, None, [])
    except ConfigError:  # its text may hold a part of the configuration
        raise ShippedError("have Ignition that can be read without fetching anything") from None


def words(config: BootConfig) -> list[str]:
    """The kernel arguments, one by one."""
    return [word for item in config.arguments for word in item.split()]


def texts(unit: BootUnit | None) -> list[str]:
    """The contents of a unit and its drop-ins; none where there is no such unit."""
    return [] if unit is None else [unit.contents or "", *unit.dropins.values()]


def texts_of(config: BootConfig, name: str) -> list[str]:
    """The same, with drop-ins and units that lie there as plain files."""
    path = f"/etc/systemd/system/{name}"
    files = [
        file.text or ""
        for found, file in config.files.items()
        if found == path or found.startswith(f"{path}.d/")
    ]
    return [*texts(config.units.get(name)), *files]


def driver(config: BootConfig) -> str | None:
    """The driver of NVIDIA's on the machine, as `570-open`; None where there is none."""
    return next(iter(drivers(config)), None)


def drivers(config: BootConfig) -> list[str]:
    """All drivers of NVIDIA's that are enabled or linked; a machine can load one."""
    return [name.removeprefix("nvidia-drivers-") for name in extensions.drivers(config)]


def own_driver(config: BootConfig) -> OwnDriver | None:
    """The driver that comes as an extension of one's own."""
    return extensions.brought_driver(config)


def node_labels(config: BootConfig) -> dict[str, str]:
    """The labels that the machine's node registers with."""
    found = _NODE_LABELS.search(config.text(KUBELET_FLAGS) or "")
    pairs = (pair.partition("=") for pair in found[1].split(",")) if found else ()
    return {key: value for key, _, value in pairs}
