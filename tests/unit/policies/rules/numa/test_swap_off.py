"""The rule on pools whose machines would have swap."""

import pytest

from hardware.catalogue import names
from ignition.plan.tuning import Tuning
from policies.rules.numa.swap_off import RULE
from tests.support.policies.shipped_pools import (
    Config,
    Edit,
    edited,
    file,
    pool,
    replaced,
    told,
    unit,
)

PATCH = "/etc/kubernetes/patches/kubeletconfiguration+merge.json"


def disk(config: Config) -> None:
    config["storage"]["filesystems"] = [{"device": "/dev/sdb1", "format": "swap"}]


def called(name: str, text: str, **fields: object) -> Edit:
    return unit(name, contents=text, **fields)


@pytest.mark.parametrize("hardware", names())
def test_no_machine_of_the_program_swaps(hardware: str) -> None:
    tuning = Tuning(housekeeping_cores_per_numa_node=1)

    assert told(RULE, pool(hardware, "batch", tuning=tuning)) == []


@pytest.mark.parametrize(
    ("edit", "must"),
    [
        (
            called("dev-sdb1.swap", "[Swap]\nWhat=/dev/sdb1\n"),
            "not have the unit dev-sdb1.swap, which is swap",
        ),
        (
            called("more.service", "[Service]\nExecStart=/usr/sbin/swapon /swap\n"),
            "not have the unit more.service, which is swap",
        ),
        (
            unit("x.service", dropins=[{"name": "1.conf", "contents": "ExecStart=swapon -a"}]),
            "not have the unit x.service, which is swap",
        ),
        (disk, "not have the file system /dev/sdb1, which is swap"),
        (
            file("/etc/systemd/zram-generator.conf", "[zram0]\n"),
            "not have the file /etc/systemd/zram-generator.conf, which is swap",
        ),
        (
            file("/etc/systemd/zram-generator.conf.d/1.conf", "[zram0]\n"),
            "not have the file /etc/systemd/zram-generator.conf.d/1.conf, which is swap",
        ),
        (
            file("/etc/fstab", "# /dev/sda none swap\n/dev/sdb1 none swap sw 0 0\n"),
            "not have the line of /etc/fstab, which is swap",
        ),
        (
            file("/etc/systemd/system/kubelet.service.d/1.conf", "X=--fail-swap-on=false"),
            "not give the kubelet the flag --fail-swap-on=false",
        ),
        (
            replaced(PATCH, '"failSwapOn":true', '"failSwapOn":false'),
            "not set the kubelet's failSwapOn to false",
        ),
        (
            replaced("/etc/sysconfig/kubelet", "\n", " --fail-swap-on=false\n"),
            "not give the kubelet the flag --fail-swap-on=false",
        ),
    ],
)
def test_swap_is_refused_wherever_it_comes_from(edit: Edit, must: str) -> None:
    assert told(RULE, edited(pool(), edit)) == [f"gpu:pools:BareMetalPool 'p' must {must}."]


def test_a_masked_unit_swaps_nothing() -> None:
    assert told(RULE, edited(pool(), unit("dev-sdb1.swap", mask=True))) == []


def test_a_script_that_a_unit_runs_counts_as_its_own() -> None:
    def running(script: str) -> list[str]:
        started = called("more.service", "[Service]\nExecStart=/opt/bin/more\n")
        return told(RULE, edited(pool(), file("/opt/bin/more", f"#!/bin/sh\n{script}\n"), started))

    assert len(running("mkswap /swap && swapon /swap")) == 1
    assert running("swapoff -a; swapon --show") == []


def test_a_line_of_fstab_that_is_no_swap_is_left_alone() -> None:
    mounted = file("/etc/fstab", "/dev/sdb1 /swap ext4 defaults 0 0\n#/dev/sdc none swap sw\n")

    assert told(RULE, edited(pool(), mounted)) == []
