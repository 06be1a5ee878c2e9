"""Whether the system extensions of an environment fit a pool's hardware and driver."""

from collections.abc import Iterator

from fleet.settings.secrets import NAMESPACE
from fleet.settings.types import Versions
from fleet.versions import FLATCAR, NVIDIA_DRIVER  # the pins alone, nothing of Pulumi
from hardware.hardware import Hardware
from ignition.extensions import fabric_manager_problem


def faults(path: str, found: Hardware, versions: Versions | None) -> Iterator[str]:
    """What the pool at `path` would lack on machines of this hardware."""
    if not found.nvswitch or versions is None:
        return
    if versions.fabric_manager is None:
        yield (
            f"{NAMESPACE}:versions.fabric_manager is missing, and {path}.hardware is "
            f'"{found.name}", whose NVSwitches need it; allowed: the https:// address of a '
            f"system extension with Fabric Manager of the driver's version; Flatcar has none."
        )
        return
    problem = fabric_manager_problem(
        versions.fabric_manager,
        nvswitch=True,
        driver=versions.nvidia_driver or NVIDIA_DRIVER,
        flatcar=versions.flatcar or FLATCAR,
    )
    if problem is not None:
        yield (
            f"{NAMESPACE}:versions.fabric_manager does not fit {path}, whose hardware is "
            f'"{found.name}": {problem}.'
        )
