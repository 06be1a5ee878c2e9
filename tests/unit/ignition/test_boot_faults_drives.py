"""What takes drives away: mounts that never come, data and the system's own partitions erased."""

import pytest

from hardware.catalogue import load
from ignition.boot.node import boot
from tests.support.ignition.faults import (
    Change,
    assert_named,
    both,
    changed,
    data_mount,
    dropin,
    link,
    own_unit,
    runs,
    storage,
    text,
    written,
)
from tests.support.ignition.nodes import node, user_data

ARRAY = "/opt/bin/scratch-array"
ONE_DRIVE = "/dev/disk/by-id/nvme-eui.01"

MOUNTS: dict[str, tuple[Change, str]] = {
    "local-fs.target requires a missing label": (
        data_mount("/dev/disk/by-label/data", "RequiredBy=local-fs.target"),
        "local-fs.target requires data.mount, and nothing makes /dev/disk/by-label/data",
    ),
    "sysinit.target requires a missing drive": (
        data_mount("/dev/nvme9n1", "RequiredBy=sysinit.target"),
        "sysinit.target requires data.mount, and nothing makes /dev/nvme9n1",
    ),
    "kubelet requires a missing drive": (
        dropin("kubelet.service", "[Unit]\nBindsTo=dev-nvme9n1.device\n"),
        "kubelet.service requires dev-nvme9n1.device",
    ),
    "fstab requires a missing drive": (
        written("/etc/fstab", "/dev/sdz1 /data ext4 defaults 0 2\n"),
        "/etc/fstab: local-fs.target requires /data, and nothing makes /dev/sdz1",
    ),
    "a link requires a mount that nobody writes": (
        link("/etc/systemd/system/local-fs.target.requires/data.mount", "../data.mount"),
        "local-fs.target requires data.mount, which nothing writes",
    ),
    "a mount hides the system": (
        own_unit(
            "etc.mount",
            "[Mount]\nWhat=tmpfs\nWhere=/etc\nType=tmpfs\n[Install]\nWantedBy=multi-user.target\n",
        ),
        "etc.mount mounts over /etc",
    ),
    "there is swap": (
        own_unit("dev-sdb.swap", "[Swap]\nWhat=/dev/sdb\n[Install]\nWantedBy=swap.target\n"),
        "turns on swap, with which kubelet does not start",
    ),
}
DRIVES: dict[str, tuple[Change, str]] = {
    "a drive without a lasting name is wiped": (
        storage("disks", device="/dev/nvme0n1", wipeTable=True),
        "/dev/nvme0n1 is another drive at another boot, and may be the system's",
    ),
    "a drive with data is wiped": (
        storage("disks", device=ONE_DRIVE, wipeTable=True),
        f"wipeTable erases {ONE_DRIVE} and all data on it",
    ),
    "a partition is removed": (
        storage(
            "disks",
            device=ONE_DRIVE,
            partitions=[{"number": 9, "label": "ROOT", "shouldExist": False}],
        ),
        "loses its partition ROOT",
    ),
    "the system's root is wiped": (
        storage(
            "filesystems", device="/dev/disk/by-partlabel/ROOT", format="ext4", wipeFilesystem=True
        ),
        "by-partlabel/ROOT is the system's own ROOT",
    ),
    "another drive is called like the system's": (
        storage("filesystems", device=ONE_DRIVE, format="ext4", label="ROOT"),
        "is labelled ROOT like a partition of the system",
    ),
    "a file system goes onto some drive": (
        storage("filesystems", device="/dev/sda", format="ext4"),
        "/dev/sda is another drive at another boot",
    ),
    "an array is made of some drives": (
        storage("raid", name="a", level="raid0", devices=["/dev/nvme0n1", "/dev/nvme1n1"]),
        "the array a: /dev/nvme0n1 is another drive",
    ),
    "a drive is encrypted": (
        storage("luks", name="a", device="/dev/sda9", wipeVolume=True),
        "storage.luks: /dev/sda9 is another drive",
    ),
    "the array takes drives that are in use": (
        text(ARRAY, "mkfs.xfs -K -L", "mkfs.xfs -f -K -L"),
        "runs mkfs.xfs in a form that erases a drive",
    ),
    "a script wipes every drive": (
        text(ARRAY, "udevadm settle\n", "udevadm settle\nwipefs --all /dev/nvme*n1\n"),
        "runs wipefs in a form that erases a drive",
    ),
    "a unit writes over a drive": (
        runs("/usr/bin/dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=10"),
        "runs dd in a form that erases a drive",
    ),
}
FAULTS = {**MOUNTS, **DRIVES}
HARMLESS: dict[str, Change] = {
    "a drive that is there gets a file system": both(
        storage("filesystems", device=ONE_DRIVE, format="xfs", label="data", path="/data"),
        data_mount(ONE_DRIVE, "RequiredBy=local-fs.target"),
    ),
    "a drive may be missing": data_mount("/dev/disk/by-label/data", "WantedBy=multi-user.target"),
    "a share may be missing": written("/etc/fstab", "/dev/sdz1 /data ext4 nofail 0 2\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    assert_named(*FAULTS[fault])


@pytest.mark.parametrize("name", HARMLESS)
def test_what_people_set_on_purpose_is_let_through(name: str) -> None:
    config = changed(user_data(node("dgx-h200")), HARMLESS[name])
    assert boot(config, load("dgx-h200")).problems == ()
