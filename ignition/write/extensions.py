"""System extensions of the Flatcar sysext bakery: where an image comes from and where it goes.

Names follow https://flatcar.github.io/sysext-bakery/. The link in /etc/extensions must bear the
name that the image's own extension-release file has, or systemd-sysext refuses it.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from hardware.catalogue import Arch

_BAKERY = "https://extensions.flatcar.org/extensions"
# the driver of each branch in a release of Flatcar (coreos-overlay, x11-drivers)
_DRIVERS = {"4593.2.5": {"535": "535.309.01", "550": "550.163.01", "570": "570.211.01"}}
_ARCH: dict[Arch, str] = {"amd64": "x86-64", "arm64": "arm64"}


@dataclass(frozen=True, kw_only=True)
class Extension:
    """An image: its URL, its path on the node, and its checksum as Ignition writes it."""

    source: str
    image: str
    checksum: str | None = None


@dataclass(frozen=True, kw_only=True)
class KubernetesExtension(Extension):
    """Kubernetes also has a list of patch releases of its minor, which systemd-sysupdate reads."""

    minor: str
    updates: str


def image(name: str, source: str) -> Extension:
    """The extension `name` from any URL, kept under the URL's file name.

    The URL may end in the checksum of the image: `#sha512-` and 128 hexadecimal digits.
    """
    source, _, checksum = source.partition("#")
    file = PurePosixPath(urlsplit(source).path).name
    return Extension(
        source=source, image=f"/opt/extensions/{name}/{file}", checksum=checksum or None
    )


def kubernetes(version: str, arch: Arch) -> KubernetesExtension:
    """kubelet, kubeadm and CNI plugins of a Kubernetes version such as 1.34.1."""
    plain = image("kubernetes", f"{_BAKERY}/kubernetes-v{version}-{_ARCH[arch]}.raw")
    minor = f"v{version.rsplit('.', 1)[0]}"
    return KubernetesExtension(
        source=plain.source,
        image=plain.image,
        minor=minor,
        updates=f"{_BAKERY}/kubernetes/kubernetes-{minor}.conf",
    )


def nvidia_runtime(version: str, arch: Arch) -> Extension:
    """The NVIDIA container toolkit of a version such as v1.18.1."""
    return image("nvidia-runtime", f"{_BAKERY}/nvidia-runtime-{version}-{_ARCH[arch]}.raw")


def driver_version(flatcar: str | None, driver: str) -> str | None:
    """The version of a NVIDIA driver such as 570-open in a release, where it is known."""
    return _DRIVERS.get(flatcar or "", {}).get(driver.split("-", 1)[0])


def fabric_manager_problem(
    url: str | None, *, nvswitch: bool, driver: str, flatcar: str | None
) -> str | None:
    """Return why GPUs behind NVSwitch would not start with this Fabric Manager, else None."""
    if not nvswitch:
        return None
    version = driver_version(flatcar, driver)
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
        release = f" of Flatcar {flatcar}" if version else ""
        return (
            f"the system extension {file} is of another version than the driver {driver}{release}; "
            f"allowed: a file name with {wanted}"
        )
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
