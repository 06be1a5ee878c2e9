"""System extensions of the Flatcar sysext bakery: where an image comes from and where it goes.

Names follow https://flatcar.github.io/sysext-bakery/. The link in /etc/extensions must bear the
name that the image's own extension-release file has, or systemd-sysext refuses it.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from hardware.catalogue import Arch
from hardware.flatcar.own_driver import OwnDriver, own_driver
from hardware.flatcar.releases import driver_version, known_releases, releases

_BAKERY = "https://extensions.flatcar.org/extensions"
_ARCH: dict[Arch, str] = {"amd64": "x86-64", "arm64": "arm64"}


@dataclass(frozen=True, kw_only=True)
class Extension:
    """An image: its name, URL, path on the node, and its checksum as Ignition writes it."""

    name: str
    source: str
    image: str
    checksum: str | None = None


def image(name: str, source: str) -> Extension:
    """The extension `name` from any URL, kept under the URL's file name.

    The URL may end in the checksum of the image: `#sha512-` and 128 hexadecimal digits.
    """
    source, _, checksum = source.partition("#")
    file = PurePosixPath(urlsplit(source).path).name
    return Extension(
        name=name,
        source=source,
        image=f"/opt/extensions/{name}/{file}",
        checksum=checksum or None,
    )


def kubernetes(version: str, arch: Arch) -> Extension:
    """kubelet, kubeadm and CNI plugins of a Kubernetes version such as 1.36.3."""
    return image("kubernetes", f"{_BAKERY}/kubernetes-v{version}-{_ARCH[arch]}.raw")


def nvidia_runtime(version: str, arch: Arch) -> Extension:
    """The NVIDIA container toolkit of a version such as v1.18.1."""
    return image("nvidia-runtime", f"{_BAKERY}/nvidia-runtime-{version}-{_ARCH[arch]}.raw")


def fabric_manager_problem(
    url: str | None,
    *,
    nvswitch: bool,
    driver: str,
    flatcar: str | None,
    own: OwnDriver | None = None,
) -> str | None:
    """Return why GPUs behind NVSwitch would not start with this Fabric Manager, else None.

    A driver of one's own tells its version, else the release does; without one (None) the driver's
    branch alone is compared.
    """
    if not nvswitch:
        return None
    if flatcar is not None and flatcar not in releases():
        return f"the drivers of Flatcar {flatcar} are not known; allowed: {known_releases()}"
    version = own.version if own else driver_version(flatcar, driver)
    if url is None:
        named = f" {version}" if version else ""
        return (
            f"its GPUs are behind NVSwitch, and CUDA starts on none without Fabric Manager{named}; "
            "give the URL of its system extension"
        )
    file = PurePosixPath(urlsplit(url).path).name
    wanted = version or f"{driver.split('-', 1)[0]}."
    ending = r"(?!\d)" if version else r"\d"
    if not re.search(r"(?<!\d)" + re.escape(wanted) + ending, file):
        release = f" of Flatcar {flatcar}" if version and not own else ""
        return (
            f"the system extension {file} is of another version than the driver {driver}{release}; "
            f"allowed: a file name with {wanted}"
        )
    return None


def driver_problem(url: str, flatcar: str | None) -> str | None:
    """Return why a driver of one's own would not load on a release of Flatcar, else None."""
    file, own = PurePosixPath(urlsplit(url).path).name, own_driver(url)
    if own is None:
        return f"the system extension {file} is no NVIDIA driver"
    if flatcar not in (None, own.flatcar):
        return f"the NVIDIA driver {file} is not of Flatcar {flatcar}, whose kernel it must fit"
    return None


def efa_problem(url: str, flatcar: str | None) -> str | None:
    """Return why an EFA driver would not load: a kernel module fits one release of the OS alone."""
    file = PurePosixPath(urlsplit(url).path).name
    if flatcar is None or re.search(rf"(?<![0-9.]){re.escape(flatcar)}(?!\.?\d)", file):
        return None
    return (
        f"the system extension {file} is not of Flatcar {flatcar}, and a kernel module fits one "
        f"release alone; allowed: a file name with {flatcar}"
    )
