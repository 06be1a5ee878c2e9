"""Checks that Metal3 is told on which drive of a bare-metal machine it installs Flatcar."""

from collections.abc import Iterator, Mapping

from settings.checks.places import hardware_of
from settings.inventory import Inventories
from settings.names import PROJECT
from settings.pools import BareMetalPoolSettings, PoolSettings, SystemDrive
from settings.problems import Mistake, dotted


def drive_mistakes(pools: Mapping[str, PoolSettings], inventories: Inventories) -> Iterator[str]:
    """Yield machines whose system drive is not named, where Metal3 cannot find it by itself.

    Without a hint Metal3 takes /dev/sda: baremetal-operator v0.13.2,
    internal/controller/metal3.io/baremetalhost_controller.go, updateRootDeviceHints.
    """
    for name, pool in pools.items():
        hardware = hardware_of(pool.kind, pool.hardware)
        if not isinstance(pool, BareMetalPoolSettings) or hardware is None:
            continue
        drives = hardware.system_drives
        unnamed = [
            position
            for position, machine in enumerate(pool.machines)
            if machine.system_drive_serial is None and machine.system_drive_wwn is None
        ]
        if hardware.needs_drive_serial and drives is not None:
            for position in unnamed:
                path = dotted(inventories.place(name, position), ["system_drive_serial"])
                yield Mistake(
                    path,
                    f" is missing; allowed: the serial number of the drive for Flatcar, or "
                    f"system_drive_wwn, because a {hardware.name} has {drives.count} such drives "
                    "that are alike.",
                )
        elif hardware.needs_drive_hint and unnamed and pool.system_drive == SystemDrive():
            yield Mistake(
                f"{PROJECT}:pools.{name}.system_drive",
                f" is missing; allowed: a mapping with "
                "minSizeGigabytes, model or another hint, or system_drive_serial of each machine, "
                f"because Metal3 would take /dev/sda, and a {hardware.name} boots from NVMe.",
            )
