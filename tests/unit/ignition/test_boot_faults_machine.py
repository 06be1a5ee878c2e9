"""What takes the machine itself away: drives, network, modules, units, scripts, arguments."""

import re
from typing import Any

import pytest

from hardware.catalogue import load
from ignition.boot import scripts
from ignition.boot.node import boot
from tests.support.ignition.faults import (
    Change,
    added,
    argument,
    both,
    changed,
    file,
    of,
    refusal,
    text,
    written,
)
from tests.support.ignition.nodes import TOKEN, node, user_data

STATE = "/opt/bin/kubelet-state"
ARRAY = "/opt/bin/scratch-array"
MODPROBE = "/etc/modprobe.d/zz.conf"
NETWORKD = "systemd-networkd.service"
ONE_DRIVE = "/dev/disk/by-id/nvme-eui.01"


def storage(kind: str, **values: Any) -> Change:
    """An entry is added to a list of storage."""
    return lambda config: config["storage"].setdefault(kind, []).append(values)


def link(path: str, target: str) -> Change:
    return added("links", path=path, target=target)


def network(name: str, contents: str) -> Change:
    return written(f"/etc/systemd/network/{name}", contents)


def dropin(name: str, contents: str) -> Change:
    return added("units", name=name, dropins=[{"name": "99-own.conf", "contents": contents}])


def own_unit(name: str, contents: str) -> Change:
    return added("units", name=name, enabled=True, contents=contents)


def runs(command: str) -> Change:
    return own_unit(
        "own.service",
        f"[Service]\nType=oneshot\nExecStart={command}\n[Install]\nWantedBy=multi-user.target\n",
    )


def data_mount(what: str, by: str) -> Change:
    contents = f"[Mount]\nWhat={what}\nWhere=/data\nType=xfs\n[Install]\n{by}\n"
    return own_unit("data.mount", contents)


SCRIPTS: dict[str, tuple[Change, str]] = {
    "a script has carriage returns": (
        file(STATE, lambda before: before.replace("\n", "\r\n")),
        "kubelet-state has lines that end with a carriage return",
    ),
    "a list of extensions has carriage returns": (
        file("/etc/flatcar/enabled-sysext.conf", lambda before: before.replace("\n", "\r\n")),
        "enabled-sysext.conf has lines that end with a carriage return",
    ),
    "a script fails in its second line": (
        text(STATE, "#!/usr/bin/bash\n", "#!/usr/bin/bash\nfalse\n"),
        '"false" fails whenever it runs',
    ),
    "a script fails by another word": (text(STATE, "cd ", "! true; cd "), '"! true" fails'),
    "a script ends before its work": (
        text(STATE, "cd ", "exit 0\ncd "),
        '"exit 0" ends it, and what follows never runs',
    ),
    "a script ends with an error": (
        file(STATE, lambda before: f"{before}\nexit 1\n"),
        '"exit 1" makes it fail',
    ),
    "a script becomes another program": (text(STATE, "cd ", "exec true\ncd "), "takes its place"),
    "a script is read and not run": (text(STATE, "set -euo", "set -neuo"), "run nothing"),
    "a script never ends": (text(STATE, "cd ", "sleep infinity\ncd "), "never lets it end"),
    "a script turns the machine off": (
        text(STATE, "cd ", "systemctl poweroff\ncd "),
        "takes the machine down at each boot",
    ),
    "a script lacks the end of a loop": (
        text(ARRAY, "done\n", ""),
        r"scratch-array is no bash \(line \d+: syntax error",
    ),
    "a script lacks a quote": (
        text(STATE, 'echo "$now"', 'echo "$now'),
        r"kubelet-state is no bash \(line \d+: unexpected EOF",
    ),
    "a command of a unit lacks the end of a condition": (
        runs('/usr/bin/sh -c "if true; then echo"'),
        r"own.service \(ExecStart \d\) is no sh",
    ),
    "a script is run by a program that is not there": (
        text(STATE, "#!/usr/bin/bash", "#!/usr/bin/perl"),
        "kubelet-state is run by an interpreter that Flatcar has not",
    ),
}
ARGUMENTS = {
    each: (argument("", each), re.escape(f'kernelArguments: "{each}" '))
    for each in (
        "init=/bin/sh",
        "rdinit=/bin/sh",
        "root=/dev/sda9",
        "usr=PARTUUID=1",
        "mem=8G",
        "memmap=4G$4G",
        "numa=off",
        "maxcpus=1",
        "nr_cpus=4",
        "nosmp",
        "acpi=off",
        "pci=off",
        "single",
        "S",
        "1",
        "emergency",
        "rd.break",
        "rd.systemd.unit=emergency.target",
        "systemd.unit=rescue.target",
        "systemd.mask=kubelet.service",
        "systemd.volatile=yes",
        "systemd.debug-shell",
        "cgroup_disable=memory",
        "flatcar.first_boot=1",
        "ignition.config.url=http://x/",
        "initcall_blacklist=nvme_init",
        "module_blacklist=nvme",
        "module_blacklist=nvidia",
        "module-blacklist=xfs",
        "modprobe.blacklist=nouveau,mlx5_core",
        '"init=/bin/sh"',
    )
}
MODULES = {
    each: (written(MODPROBE, f"{each}\n"), re.escape(f"{MODPROBE}: {each.split()[0]} "))
    for each in (
        "install nvidia /bin/false",
        "install nvidia-uvm /bin/true",
        "install overlay exit 1",
        "install nvme_core :",
        "blacklist nvidia",
        "blacklist xfs",
        "alias nvidia nouveau",
        "softdep nvidia pre: nothing",
        "remove nvidia /bin/true",
    )
}
NETWORK: dict[str, tuple[Change, str]] = {
    "every card is left without an address": (
        network("00-a.network", "[Match]\nName=*\n[Network]\nDHCP=no\n"),
        r"00-a.network \(Name=\*\) comes before Flatcar's own and asks for no address",
    ),
    "the cards are left without an address": (
        network("50-a.network", "[Match]\nName=en*\n[Network]\nLLDP=yes\n"),
        "asks for no address",
    ),
    "the cards are named by what they are not": (
        network("50-a.network", "[Match]\nName=!lo\n[Network]\nDHCP=no\n"),
        "asks for no address",
    ),
    "nothing says which cards": (network("50-a.network", "[Network]\nDHCP=ipv6\n"), "no address"),
    "an address leads nowhere": (
        network("50-a.network", "[Match]\nType=ether\n[Network]\nAddress=10.0.0.5/24\n"),
        "asks for no address",
    ),
    "a bond is made of nothing": (
        network("50-a.network", "[Match]\nName=en*\n[Network]\nBond=bond0\n"),
        "part of bond0, which no .netdev makes",
    ),
    "the cards are left alone": (
        network("50-a.network", "[Match]\nName=en*\n[Link]\nUnmanaged=yes\n"),
        "Unmanaged=yes leaves the card down",
    ),
    "the cards stay down": (
        network(
            "50-a.network",
            "[Match]\nName=en*\n[Link]\nActivationPolicy=down\n[Network]\nDHCP=yes\n",
        ),
        "ActivationPolicy=down leaves the card down",
    ),
    "the default file is emptied": (network("zz-default.network", ""), "is empty"),
    "the default file is masked": (
        link("/etc/systemd/network/zz-default.network", "/dev/null"),
        "so that the system's own zz-default.network is not read",
    ),
    "a drop-in of the default file takes the address": (
        network("zz-default.network.d/a.conf", "[Network]\nDHCP=no\n"),
        "DHCP=no takes away the address",
    ),
    "there is no nameserver": (written("/etc/resolv.conf", ""), "resolv.conf names no nameserver"),
    "the nameserver is a comment": (
        written("/etc/resolv.conf", "#nameserver 1.1.1.1\nsearch example.com\n"),
        "resolv.conf names no nameserver",
    ),
    "the nameservers are nowhere": (
        link("/etc/resolv.conf", "/dev/null"),
        "resolv.conf points at /dev/null",
    ),
    "hosts are looked up in a file alone": (
        written("/etc/nsswitch.conf", "hosts: files\n"),
        "looks up no host in DNS",
    ),
}
UNITS: dict[str, tuple[Change, str]] = {
    **{
        f"{name} is masked": (added("units", name=name, mask=True), f"^{re.escape(name)} is masked")
        for name in (
            NETWORKD,
            "systemd-udevd.service",
            "systemd-resolved.service",
            "systemd-sysext.service",
            "ensure-sysext.service",
            "dbus.service",
            "dbus.socket",
            "network-online.target",
            "local-fs.target",
            "coreos-metadata.service",
        )
    },
    "a unit is a link to nothing": (
        link(f"/etc/systemd/system/{NETWORKD}", "/dev/null"),
        f"{NETWORKD} is masked by the link",
    ),
    "a unit is an empty file": (
        written(f"/etc/systemd/system/{NETWORKD}", "\n"),
        f"{NETWORKD} is masked by the empty file",
    ),
    "a unit runs false": (
        dropin(NETWORKD, "[Service]\nExecStart=\nExecStart=/bin/false\n"),
        f"{NETWORKD}: ExecStart runs false",
    ),
    "a unit runs nothing": (
        dropin(NETWORKD, "[Service]\nExecStart=\nExecStart=/usr/bin/true\n"),
        "a drop-in takes its ExecStart away",
    ),
    "a unit has no command": (
        dropin("systemd-resolved.service", "[Service]\nExecStart=\n"),
        "a drop-in takes its ExecStart away",
    ),
    "a unit fails before it starts": (
        dropin("kubelet.service", "[Service]\nExecStartPre=/usr/bin/false\n"),
        "kubelet.service: ExecStartPre runs false",
    ),
    "a unit waits for what never is": (
        dropin(NETWORKD, "[Unit]\nConditionPathExists=/nowhere\n"),
        "ConditionPathExists=/nowhere may never hold",
    ),
    "a unit waits for it in a file": (
        written(f"/etc/systemd/system/{NETWORKD}.d/a.conf", "[Unit]\nAssertPathExists=/nowhere\n"),
        "AssertPathExists=/nowhere may never hold",
    ),
    "a unit has no network": (
        dropin("kubelet.service", "[Service]\nPrivateNetwork=yes\n"),
        "PrivateNetwork=yes keeps it from what it does",
    ),
    "a unit of the system is written anew": (
        own_unit(
            NETWORKD,
            "[Service]\nExecStart=/usr/bin/networkd\n[Install]\nWantedBy=multi-user.target\n",
        ),
        "is written anew, over the one that the system brings",
    ),
    "another target is the default": (
        link("/etc/systemd/system/default.target", "/usr/lib/systemd/system/rescue.target"),
        "starts no node",
    ),
    "a command masks a unit": (
        runs(f"/usr/bin/systemctl mask --now {NETWORKD}"),
        f"runs systemctl mask {NETWORKD}",
    ),
    "a command takes the machine down": (
        runs("/usr/bin/systemctl --no-block reboot"),
        "own.service: ExecStart takes the machine down",
    ),
    "a failure takes the machine down": (
        dropin("kubelet.service", "[Unit]\nFailureAction=poweroff\n"),
        "FailureAction=poweroff ends the machine",
    ),
    "a unit stops another one": (
        dropin("kubelet.service", "[Unit]\nConflicts=dbus.service\n"),
        "Conflicts=dbus.service stops a unit",
    ),
    "a unit asks first for what never is": (
        dropin(NETWORKD, "[Service]\nExecStartPre=/usr/bin/test -e /nowhere\n"),
        "ExecStartPre=/nowhere may never hold",
    ),
    "a folder of units is a link to nothing": (
        link("/etc/systemd/network", "/dev/null"),
        "/etc/systemd/network is a folder of the system",
    ),
    "systemd-tmpfiles masks a unit": (
        written("/etc/tmpfiles.d/a.conf", f"L+ /etc/systemd/system/{NETWORKD} - - - - /dev/null\n"),
        "takes away what the system has there",
    ),
    "systemd-tmpfiles removes kubelet's state": (
        written("/etc/tmpfiles.d/a.conf", "R /var/lib/kubelet\n"),
        "R /var/lib/kubelet takes away",
    ),
    "a command closes the network": (
        runs("/usr/sbin/iptables -P INPUT DROP"),
        "closes the machine's network",
    ),
    "a command unloads the driver": (runs("/usr/sbin/modprobe -r nvidia"), "unloads the module"),
    "a command takes the network down": (
        runs("/usr/bin/ip link set dev eth0 down"),
        "takes a network card down",
    ),
}
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
FAULTS = {**SCRIPTS, **ARGUMENTS, **MODULES, **NETWORK, **UNITS, **MOUNTS, **DRIVES}

HARMLESS: dict[str, Change] = {
    "systemd-tmpfiles makes a folder": written("/etc/tmpfiles.d/a.conf", "d /opt/data 0755\n"),
    "a card has a fixed address": network(
        "10-a.network", "[Match]\nName=eno1\n[Network]\nAddress=10.0.0.5/24\nGateway=10.0.0.1\n"
    ),
    "two cards are one bond": both(
        network("10-bond0.netdev", "[NetDev]\nName=bond0\nKind=bond\n"),
        network("20-cards.network", "[Match]\nName=en*\n[Network]\nBond=bond0\n"),
        network("30-bond0.network", "[Match]\nName=bond0\n[Network]\nDHCP=yes\n"),
    ),
    "interfaces of pods are left alone": network(
        "50-pods.network", "[Match]\nName=cilium_* lxc*\n[Link]\nUnmanaged=yes\n"
    ),
    "jumbo frames": network(
        "10-a.network", "[Match]\nName=en*\n[Link]\nMTUBytes=9000\n[Network]\nDHCP=yes\n"
    ),
    "a nameserver of the site": written("/etc/resolv.conf", "nameserver 10.0.0.53\n"),
    "nouveau is kept out": written(MODPROBE, "blacklist nouveau\noptions nouveau modeset=0\n"),
    "a rare protocol is kept out": written(MODPROBE, "install dccp /bin/false\n"),
    "the beeper is kept out": argument("", "modprobe.blacklist=pcspkr,nouveau"),
    "the console has no shell": added("units", name="serial-getty@ttyS0.service", mask=True),
    "SSH is off": added("units", name="sshd.socket", mask=True),
    "a drive that is there gets a file system": both(
        storage("filesystems", device=ONE_DRIVE, format="xfs", label="data", path="/data"),
        data_mount(ONE_DRIVE, "RequiredBy=local-fs.target"),
    ),
    "a drive may be missing": data_mount("/dev/disk/by-label/data", "WantedBy=multi-user.target"),
    "a share may be missing": written("/etc/fstab", "/dev/sdz1 /data ext4 nofail 0 2\n"),
    "a script ends early on a condition": text(STATE, "cd ", "[[ -d /x ]] && exit 0\ncd "),
    "systemd says more": argument("", "systemd.log_level=info"),
    "a wait for one card": dropin(
        "systemd-networkd-wait-online.service",
        "[Service]\nExecStart=\nExecStart=/usr/lib/systemd/systemd-networkd-wait-online --any\n",
    ),
    "systemd-udevd has a drop-in": dropin("systemd-udevd.service", "[Service]\nNice=-5\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    change, says = FAULTS[fault]
    problems = refusal(change)
    assert any(re.search(says, problem) for problem in problems), problems
    assert not any(TOKEN in problem for problem in problems)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_people_set_on_purpose_is_let_through(name: str) -> None:
    config = changed(user_data(node("dgx-h200")), HARMLESS[name])
    assert boot(config, load("dgx-h200")).problems == ()


@pytest.mark.parametrize("name", ["containerd.service", "nvidia.service"])
def test_a_mask_of_a_unit_that_has_a_dropin_is_refused(name: str) -> None:
    problems = refusal(of("units", name, mask=True, enabled=False))
    assert any(problem.startswith(name) and "mask" in problem for problem in problems), problems


def test_what_flatcar_finds_its_system_by_stays_on_the_command_line() -> None:
    def change(config: dict[str, Any]) -> None:
        config["kernelArguments"]["shouldNotExist"] = ["flatcar.autologin", "root=LABEL=ROOT"]

    assert '"root=LABEL=ROOT" is what Flatcar finds its system by' in refusal(change)[0]


def test_without_bash_the_syntax_of_scripts_stays_open_and_the_answer_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scripts, "_bash", lambda: None)
    found = boot(user_data(node("dgx-h200")), load("dgx-h200"))
    assert found.problems == ()
    assert len(found.unchecked) == 1
    assert re.fullmatch(r"the syntax of \d+ scripts, because PATH has no bash", found.unchecked[0])
    assert boot(user_data(node("dgx-h200")), load("dgx-h200")).node is not None
