"""Whether the system extensions of an environment fit a pool's hardware, driver and OS."""

from collections.abc import Iterator

from hardware.catalogue import Hardware
from ignition.write.extensions import efa_problem, fabric_manager_problem
from settings.problems import wrong
from settings.secrets import NAMESPACE
from settings.types import Versions
from settings.versions import FLATCAR, NVIDIA_DRIVER  # the pins alone, nothing of Pulumi

OLDEST = 4344
"""The first release of Flatcar with NVIDIA's drivers as system extensions, in all channels."""


def release(versions: Versions | None) -> Iterator[str]:
    """A release that is too old for what every machine with GPUs boots from."""
    if versions is None or versions.flatcar is None:
        return
    if int(versions.flatcar.partition(".")[0]) < OLDEST:
        allowed = f"{OLDEST}.0.0 or newer, because older ones have no system extension of a driver"
        yield wrong(f"{NAMESPACE}:versions.flatcar", versions.flatcar, allowed)


def faults(path: str, found: Hardware, versions: Versions | None) -> Iterator[str]:
    """What the pool at `path` would lack on machines of this hardware."""
    if versions is None:
        return
    flatcar = versions.flatcar or FLATCAR
    if found.nvswitch and versions.fabric_manager is None:
        yield (
            f"{NAMESPACE}:versions.fabric_manager is missing, and {path}.hardware is "
            f'"{found.name}", whose NVSwitches need it; allowed: the https:// address of a '
            f"system extension with Fabric Manager of the driver's version; Flatcar has none."
        )
    elif problem := fabric_manager_problem(
        versions.fabric_manager,
        nvswitch=found.nvswitch,
        driver=versions.nvidia_driver or NVIDIA_DRIVER,
        flatcar=flatcar,
    ):
        yield _unfit("fabric_manager", path, found, problem)
    if found.efa_interfaces and versions.efa and (problem := efa_problem(versions.efa, flatcar)):
        yield _unfit("efa", path, found, problem)


def _unfit(extension: str, path: str, found: Hardware, problem: str) -> str:
    return (
        f"{NAMESPACE}:versions.{extension} does not fit {path}, whose hardware is "
        f'"{found.name}": {problem}.'
    )
