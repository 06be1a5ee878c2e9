"""The gateway of a site, without settings."""

import dataclasses
from collections.abc import Callable
from ipaddress import IPv4Network
from typing import Any, cast

import pulumi
import pytest

from components.network.hetzner import HetznerNetwork, HetznerNetworkArgs
from components.pools.boot import PoolError
from components.pools.gateway import Gateway, GatewayArgs, TunnelPeer
from hardware.catalogue import load
from ignition.boot.node import boot
from tests.support.recorder import Secret, named, render

KEY = "A" * 43 + "="
TUNNEL = "10.13.0.0/20"


def peers(count: int) -> list[TunnelPeer]:
    hosts = (str(IPv4Network(TUNNEL)[number + 2]) for number in range(count))
    keys = (f"{number:A>42}I=" for number in range(count))
    return [
        TunnelPeer(address=host, public_key=pulumi.Output.secret(key))
        for host, key in zip(hosts, keys, strict=True)
    ]


def gateway(machines: int = 2, **changes: Any) -> Callable[[], None]:
    def program() -> None:
        network = HetznerNetworkArgs(
            cluster="fleet-test", site="hel1", cidr="10.12.0.0/16", location="hel1"
        )
        args = GatewayArgs(
            cluster="fleet-test",
            site="fra",
            title="fra",
            name="fleet-test-fra-gateway",
            network=HetznerNetwork("hel1", network),
            number=1,
            hardware=load("ccx33"),
            flatcar="4593.2.5",
            tunnel=TUNNEL,
            port=51821,
            private_key=KEY,
            peers=peers(machines),
        )
        Gateway("fra-gateway", dataclasses.replace(args, **changes))

    return program


def test_a_gateway_listens_at_the_port_of_the_tunnels_endpoint() -> None:
    resources = render(gateway())
    rules = named(resources, "Firewall")["fra-gateway-firewall"].inputs["rules"]
    assert isinstance(rules, list)
    assert (rules[0]["protocol"], rules[0]["port"]) == ("udp", "51821")
    shown = str(named(resources, "Gateway")["fra-gateway"].inputs["ignition"])
    assert "51821" in shown


def test_a_plain_private_key_becomes_secret() -> None:
    assert isinstance(
        named(render(gateway()), "Server")["fra-gateway-server"].inputs["userData"], Secret
    )


def test_the_address_of_a_gateway_is_not_lost_with_its_server() -> None:
    resources = render(gateway())
    address = named(resources, "PrimaryIp")["fra-gateway-address"].inputs
    assert (address["type"], address["location"], address["autoDelete"]) == ("ipv4", "hel1", False)
    server = named(resources, "Server")["fra-gateway-server"]
    (public,) = cast("list[dict[str, object]]", server.inputs["publicNets"])
    assert isinstance(public["ipv4"], int | float), "its own, not one that Hetzner picks"
    assert server.delete_before_replace, "the address is free only then"


def test_two_gateways_of_a_site_have_their_own_addresses_in_it() -> None:
    routes = [
        named(render(gateway(number=number)), "NetworkRoute")["fra-gateway-route"].inputs["gateway"]
        for number in (1, 2)
    ]
    assert routes == ["10.12.127.254", "10.12.127.253"]


def test_a_gateway_of_many_machines_fits_and_boots() -> None:
    user_data = named(render(gateway(250)), "Server")["fra-gateway-server"].inputs["userData"]
    assert isinstance(user_data, Secret)
    assert len(str(user_data.value)) <= 32 * 1024
    machine = boot(str(user_data.value), load("ccx33"))
    assert (machine.role, machine.problems) == ("gateway", ())


def test_more_machines_than_user_data_has_room_for_are_refused_with_the_sizes() -> None:
    wanted = "the gateway of site fra: the boot data has .*; allowed: 32768 bytes"
    with pytest.raises(PoolError, match=wanted):
        render(gateway(2000))


def test_a_missing_snapshot_is_reported_for_the_gateway() -> None:
    with pytest.raises(PoolError, match="the gateway of site fra: the Hetzner project has no x86"):
        render(
            gateway(), not_found="hcloud:index/getImage:getImage", because="no image found for it"
        )
