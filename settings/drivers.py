"""The NVIDIA driver of an environment: one that Flatcar publishes, or an extension of one's own."""

from collections.abc import Iterator

from hardware.flatcar.own_driver import EXAMPLE, OwnDriver, own_driver
from settings.names import PROJECT
from settings.problems import Mistake, wrong
from settings.types import Versions
from settings.versions import FLATCAR, NVIDIA_DRIVER

_PATH = f"{PROJECT}:versions.nvidia_driver_extension"


def own(versions: Versions) -> OwnDriver | None:
    """Return the driver of `nvidia_driver_extension`."""
    return own_driver(versions.nvidia_driver_extension or "")


def driver(versions: Versions) -> str:
    """Return the branch and kind of the driver, such as 570-open."""
    found = own(versions)
    return found.kind if found else versions.nvidia_driver or NVIDIA_DRIVER


def driver_mistakes(versions: Versions | None) -> Iterator[str]:
    """Yield an extension of one's own that is no driver, or beside another, or does not fit."""
    if versions is None or versions.nvidia_driver_extension is None:
        return
    found, flatcar = own(versions), versions.flatcar or FLATCAR
    address = versions.nvidia_driver_extension.partition("#")[0]
    if found is None:
        allowed = (
            "an https:// address whose file is named as ignition/sysext/build.sh names it, such as "
            f"{EXAMPLE}"
        )
        yield wrong(_PATH, address, allowed)
    elif found.flatcar != flatcar:
        yield Mistake(
            _PATH,
            f" is a driver for Flatcar {found.flatcar}; allowed: one for {flatcar}, the "
            "release of this environment, because a kernel module fits one release alone.",
        )
    if versions.nvidia_driver is not None:
        yield Mistake(
            f"{PROJECT}:versions.nvidia_driver",
            f' is "{versions.nvidia_driver}", and '
            "nvidia_driver_extension is a driver, too; allowed: one of both.",
        )
