"""What a machine boots with so that pods reach its rails."""

import json
from dataclasses import replace
from typing import Literal

import pytest

from hardware.catalogue import load
from ignition.boot.node import boot
from ignition.butane.urls import decode
from ignition.write.render import NodeBoot, tuning_ignition
from tests.support.ignition.nodes import node, user_data

Kind = Literal["infiniband", "roce"]
KINDS: tuple[Kind, ...] = ("infiniband", "roce")


def dgx(fabric: Kind | None) -> NodeBoot:
    return replace(node("dgx-h200"), fabric=fabric)


def files(of: NodeBoot) -> dict[str, str]:
    config = json.loads(tuning_ignition(of))
    return {
        file["path"]: decode(file["contents"]["source"]).decode()
        for file in config["storage"]["files"]
        if file["contents"]["source"].startswith("data:")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_device_plugin_finds_all_devices_that_it_wants_of_a_card(kind: Kind) -> None:
    loaded = files(dgx(kind))["/etc/modules-load.d/fleet-rdma.conf"].split()
    # k8s-rdma-shared-dev-plugin 1.5.3, requiredRdmaDevices; mlx5_ib brings uverbs by itself
    assert {"ib_umad", "rdma_ucm"} <= set(loaded)
    assert ("ib_ipoib" in loaded) is (kind == "infiniband")


@pytest.mark.parametrize("kind", KINDS)
def test_pods_see_the_cards_from_their_own_network(kind: Kind) -> None:
    assert files(dgx(kind))["/etc/modprobe.d/fleet-rdma.conf"] == "options ib_core netns_mode=1\n"


def test_an_infiniband_interface_is_nobodys_to_configure() -> None:
    text = files(dgx("infiniband"))["/etc/systemd/network/10-fleet-infiniband.network"]
    assert "Type=infiniband" in text
    assert "Unmanaged=yes" in text


def test_each_roce_port_answers_for_itself_alone() -> None:
    script = files(dgx("roce"))["/opt/bin/fleet-rails"]
    assert f"for rail in {' '.join(load('dgx-h200').rails)}; do" in script
    for name, value in (("arp_ignore", 1), ("arp_announce", 2), ("rp_filter", 2)):
        assert f'echo {value} > "$port/{name}"' in script
    assert "conf/all" not in script, "the interfaces of pods stay as Cilium sets them"


@pytest.mark.parametrize("kind", KINDS)
def test_the_machine_comes_up(kind: Kind) -> None:
    booted = boot(user_data(dgx(kind)), load("dgx-h200"))
    assert booted.problems == ()
    assert booted.node is not None


def test_a_machine_without_fabric_has_nothing_of_it() -> None:
    assert not [path for path in files(dgx(None)) if "rdma" in path or "rails" in path]
