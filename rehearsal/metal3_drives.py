"""Which drives of a bare-metal machine Metal3's `rootDeviceHints` fit, by the catalogue.

Ironic refuses a machine of which no drive fits all hints, which baremetal-operator v0.13.2 hands
over so (pkg/provisioner/ironic/devicehints/devicehints.go, MakeHintMap).
"""

from collections.abc import Mapping
from typing import Any

from hardware.catalogue import Hardware

DEFAULT_HINTS = {"deviceName": "/dev/sda"}
"""Those of a host that has none, from the hardware profile `unknown`: apis/metal3.io/v1alpha1/
profile/profile.go, and updateRootDeviceHints of internal/controller/metal3.io."""


def no_drive(hardware: Hardware, hints: Mapping[str, Any]) -> str | None:
    """Return the error of Ironic where no drive of the machine fits; None where one does.

    Serial numbers, World Wide Names and links by path are the owner's to know: they are taken as
    those of a drive.
    """
    drives = hardware.system_drives
    nvme_only = drives is None or drives.bus == "nvme"
    name = str(hints.get("deviceName", ""))
    wrong = (
        (nvme_only and name.startswith("/dev/sd"))
        or (nvme_only and "hctl" in hints)
        or (nvme_only and hints.get("rotational") is True)
        or int(hints.get("minSizeGigabytes", 0)) > _largest(hardware)
        or not _has_model(hardware, str(hints.get("model", "")))
    )
    return (
        f"No suitable device was found for deployment using these hints {hints}" if wrong else None
    )


def _largest(hardware: Hardware) -> int:
    """Return the size of the largest drive in GiB, which is what Ironic compares."""
    return max([hardware.system_disk_gib, *(drive.size_gib for drive in hardware.nvme)])


def _has_model(hardware: Hardware, model: str) -> bool:
    """Return whether a drive may be of this model: one that the catalogue does not know may."""
    drives = hardware.system_drives
    known = [drives.model if drives else None, *(drive.model for drive in hardware.nvme)]
    return any(each is None or model in each for each in known)
