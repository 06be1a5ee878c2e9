"""What takes the machine itself away: scripts, kernel arguments, modules and units."""

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
    assert_named,
    changed,
    dropin,
    file,
    link,
    of,
    own_unit,
    refusal,
    runs,
    text,
    written,
)
from tests.support.ignition.nodes import node, user_data

STATE = "/opt/bin/kubelet-state"
ARRAY = "/opt/bin/scratch-array"
MODPROBE = "/etc/modprobe.d/zz.conf"
NETWORKD = "systemd-networkd.service"


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
        "flatcar.autologin",
        "panic=0",
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
FAULTS = {**SCRIPTS, **ARGUMENTS, **MODULES, **UNITS}

HARMLESS: dict[str, Change] = {
    "systemd-tmpfiles makes a folder": written("/etc/tmpfiles.d/a.conf", "d /opt/data 0755\n"),
    "nouveau is kept out": written(MODPROBE, "blacklist nouveau\noptions nouveau modeset=0\n"),
    "a rare protocol is kept out": written(MODPROBE, "install dccp /bin/false\n"),
    "the beeper is kept out": argument("", "modprobe.blacklist=pcspkr,nouveau"),
    "the console has no shell": added("units", name="serial-getty@ttyS0.service", mask=True),
    "SSH is off": added("units", name="sshd.socket", mask=True),
    "a script ends early on a condition": text(STATE, "cd ", "[[ -d /x ]] && exit 0\ncd "),
    "systemd says more": argument("", "systemd.log_level=info"),
    "systemd-udevd has a drop-in": dropin("systemd-udevd.service", "[Service]\nNice=-5\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    assert_named(*FAULTS[fault])


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
