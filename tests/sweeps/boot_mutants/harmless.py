"""Mutants that the boot check may let through: each with why the machine is no worse for it."""

import re
from collections.abc import Mapping

_FREE_NAME = "the reader takes every file of the folder, whatever its name"
_HOSTNAME = "join.yaml and /etc/hostname give the same name, and either is enough"
_WISH = "a wish of the user that nothing else repeats; the driver keeps its default"
_DEFAULT_TIME = "systemd-timesyncd then asks the servers that Flatcar has built in"
_NO_CHECK = "XFS has no check at boot"
_RUNS_ONCE = "a oneshot that runs again when it is wanted again does the same again"

HARMLESS: Mapping[tuple[str, str], str] = {
    ("file dropped", r"/etc/hostname$"): _HOSTNAME,
    ("file dropped", r"/etc/modprobe\.d/nvidia\.conf$"): _WISH,
    ("file emptied", r"/etc/modprobe\.d/nvidia\.conf$"): _WISH,
    ("setting dropped", r"/etc/modprobe\.d/nvidia\.conf: "): _WISH,
    (
        "setting off by one",
        r"/etc/modprobe\.d/nvidia\.conf: ",
    ): "another value that the driver takes",
    ("file overwritten by a merge", r"/etc/modprobe\.d/nvidia\.conf$"): _WISH,
    ("file misspelt", r"/etc/(sysctl|modprobe|sysupdate|sysupdate\.kubernetes)\.d/"): _FREE_NAME,
    ("file misspelt", r"/etc/systemd/system\.conf\.d/"): _FREE_NAME,
    **{
        (kind, r"/etc/systemd/timesyncd\.conf\.d/"): _DEFAULT_TIME
        for kind in ("file dropped", "file emptied", "file overwritten by a merge", "file misspelt")
    },
    ("setting dropped", r"/etc/systemd/timesyncd\.conf\.d/"): _DEFAULT_TIME,
    (
        "setting malformed",
        r"/etc/systemd/timesyncd\.conf\.d/.* 1x$",
    ): "a further server, which a site may have",
    (
        "setting off by one",
        r"/etc/systemd/timesyncd\.conf\.d/",
    ): "another server, which a site may have",
    (
        "unit dropped",
        r"^systemd-sysupdate\.timer$",
    ): "systemd's own preset leaves it off; the mask holds against a snippet",
    (
        "unit misnamed",
        r"^\w+-\w+\.service$",
    ): "no other unit refers to the name",
    ("directive dropped", r": Description="): "text for people",
    ("directive dropped", r": RemainAfterExit=yes"): _RUNS_ONCE,
    (
        "directive dropped",
        r"kubelet-state\.service: WantedBy=",
    ): "kubelet.service requires the unit, and so starts it",
    (
        "directive dropped",
        r"fleet-irq\.timer: OnBootSec=",
    ): "the service runs at boot, and the timer counts from there",
    (
        "directive dropped",
        r"(node-healthy\.service: After=kubelet|tunnel-healthy\.service: After=)",
    ): "the command repeats until what it asks is there",
    (
        "directive dropped",
        r"node-healthy\.service: TimeoutStartSec=",
    ): "curl ends by itself after fifty tries",
    (
        "directive dropped",
        r"scratch-quota\.service: Type=oneshot",
    ): "nothing waits for the end of the quotas",
    (
        "directive dropped",
        r"scratch\.mount: Conflicts=umount\.target",
    ): "what is still mounted is unmounted at the end of a shutdown",
    ("directive dropped", r"\.mount: Type=xfs"): "mount reads the type from the device",
    ("directive dropped", r"var-lib-etcd\.mount: \w+=systemd-fsck@"): _NO_CHECK,
    ("reference misspelt", r"var-lib-etcd\.mount: \w+=systemd-fsck@"): _NO_CHECK,
    (
        "directive dropped",
        r"control-plane\.service: RequiresMountsFor=/var/lib/etcd",
    ): "where etcd has no disk of its own nothing is mounted there",
    (
        "directive dropped",
        r"efa-module\.service: After=systemd-sysext\.service",
    ): "services start after sysinit.target, and that after the extensions are merged",
    (
        "expectation dropped",
        r"^(sysctls|kernel_arguments)\.",
    ): "the check on the node looks at one line less; the line itself is in force",
    (
        "file emptied",
        r"/etc/kubernetes/init\.yaml$",
    ): "only the first server founds the cluster",
    ("names disagree", r"^/etc/hostname$"): "no cluster knows the name of a gateway",
    (
        "setting dropped",
        r"update\.conf: REBOOT_STRATEGY=reboot$",
    ): "locksmithd reboots by default",
    (
        "setting off by one",
        r"update\.conf: LOCKSMITHD_REBOOT_WINDOW_LENGTH=",
    ): "a longer window is a window",
    ("join field dropped", r"^nodeRegistration(\.name)?$"): _HOSTNAME,
    (
        "join field dropped",
        r"^nodeRegistration\.criSocket$",
    ): "kubeadm finds the one socket of a container runtime by itself",
    (
        "Fabric Manager of another version",
        r"570\.211\.02",
    ): "not to be seen in boot data: the driver's patch level is the image's, and may be this one",
}


def reason(kind: str, what: str) -> tuple[str, str] | None:
    """The entry that excuses a mutant; None where there is none."""
    return next(
        (key for key in HARMLESS if key[0] == kind and re.search(key[1], what)),
        None,
    )
