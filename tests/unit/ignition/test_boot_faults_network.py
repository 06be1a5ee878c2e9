"""What takes the network away: cards without an address, no nameserver."""

import pytest

from hardware.catalogue import load
from ignition.boot.node import boot
from tests.support.ignition.faults import (
    Change,
    assert_named,
    both,
    changed,
    dropin,
    link,
    network,
    written,
)
from tests.support.ignition.nodes import node, user_data

FAULTS: dict[str, tuple[Change, str]] = {
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
HARMLESS: dict[str, Change] = {
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
    "a wait for one card": dropin(
        "systemd-networkd-wait-online.service",
        "[Service]\nExecStart=\nExecStart=/usr/lib/systemd/systemd-networkd-wait-online --any\n",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    assert_named(*FAULTS[fault])


@pytest.mark.parametrize("name", HARMLESS)
def test_what_people_set_on_purpose_is_let_through(name: str) -> None:
    config = changed(user_data(node("dgx-h200")), HARMLESS[name])
    assert boot(config, load("dgx-h200")).problems == ()
