"""Tables of Hetzner Cloud's locations, server types and images, as of late 2026."""

import re
from dataclasses import dataclass
from functools import cache

from hardware import catalogue as hardware

# https://docs.hetzner.com/cloud/general/locations
NETWORK_ZONE_OF = {
    "fsn1": "eu-central",
    "nbg1": "eu-central",
    "hel1": "eu-central",
    "ash": "us-east",
    "hil": "us-west",
    "sin": "ap-southeast",
}
NETWORK_ZONES = tuple(dict.fromkeys(NETWORK_ZONE_OF.values()))
PLACEMENT_GROUP_LIMIT = 10
USER_DATA_LIMIT_KIB = 32
LOAD_BALANCER_TYPES = ("lb11", "lb21", "lb31")
SYSTEM_IMAGES = (
    *("alma-9", "alma-10", "centos-stream-9", "centos-stream-10", "debian-12", "debian-13"),
    *("fedora-43", "rocky-9", "rocky-10", "ubuntu-22.04", "ubuntu-24.04"),
)


DISKS_GB = {
    "cx23": 40,
    "cx33": 80,
    "cx43": 160,
    "cx53": 320,
    "cpx11": 40,
    "cpx21": 80,
    "cpx31": 160,
    "cpx41": 240,
    "cpx51": 360,
    "cpx12": 40,
    "cpx22": 80,
    "cpx32": 160,
    "cpx42": 320,
    "cpx52": 480,
    "cpx62": 640,
    "cax11": 40,
    "cax21": 80,
    "cax31": 160,
    "cax41": 320,
    "ccx13": 80,
    "ccx23": 160,
    "ccx33": 240,
    "ccx43": 360,
    "ccx53": 600,
    "ccx63": 960,
}


@dataclass(frozen=True, kw_only=True)
class ServerType:
    """`architecture` is Hetzner's word (x86 or arm); the disk is in GB."""

    architecture: str
    disk_gb: int


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A snapshot of the project."""

    id: int
    architecture: str
    labels: dict[str, str]
    description: str


@cache
def server_types() -> dict[str, ServerType]:
    """The server types: those in the table, and those of the hardware catalogue."""
    known = {
        name: ServerType(architecture="arm" if name.startswith("cax") else "x86", disk_gb=disk)
        for name, disk in DISKS_GB.items()
    }
    for name in hardware.names():
        machine = hardware.load(name)
        if machine.kind == "hetzner" and name not in known:
            known[name] = ServerType(
                architecture="arm" if machine.arch == "arm64" else "x86",
                disk_gb=machine.system_disk_gib,
            )
    return known


def flatcar_snapshot(version: str, architecture: str) -> Snapshot:
    """The project's snapshot of a Flatcar release for one architecture."""
    major, minor, patch = (int(part) for part in version.split("."))
    return Snapshot(
        id=(major * 10_000 + minor * 100 + patch) * 10 + (architecture == "arm"),
        architecture=architecture,
        labels={"os": "flatcar", "flatcar": version},
        description=f"Flatcar {version} {architecture}",
    )


def image_architecture(image: str) -> str | None:
    """The architecture of a snapshot by its id; None for a system image, which has both."""
    return ("x86", "arm")[int(image) % 10] if _is_snapshot(image) else None


def is_image(image: str) -> bool:
    """Whether the project has an image of that name or id."""
    return image in SYSTEM_IMAGES or _is_snapshot(image)


def _is_snapshot(image: str) -> bool:
    # Flatcar counts days since 2013 in its major version: four digits until 2040.
    return re.fullmatch(r"[1-9]\d{3}\d{4}[01]", image) is not None
