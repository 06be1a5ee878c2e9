"""On-premises sites with a tunnel: the resources of such an environment."""

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Literal, cast

import pulumi
import pytest

from hardware.catalogue import load
from ignition.boot.node import boot
from ignition.write.wireguard import WireGuardKey
from ignition.write.wireguard_keys import public_key
from policies.environment import parse
from stacks.compose import compose
from tests.support.environments import SECRETS
from tests.support.recorder import Registered, Secret, exported, named, plain, render
from tests.support.stack_settings import GATEWAY, TUNNEL, TUNNEL_KEYS, config, with_tunnel
from tests.unit.stacks.test_environments import texts

ENVIRONMENTS = {"none": config(), "theirs": with_tunnel(), "ours": with_tunnel(GATEWAY)}
Whose = Literal["none", "theirs", "ours"]


def program(gateway: Whose) -> Callable[[], None]:
    """Return the program of an environment whose site has a tunnel to a gateway, or none."""
    environment = parse("dev", ENVIRONMENTS[gateway])
    secrets = {**SECRETS, "wireguard_keys": json.dumps(TUNNEL_KEYS)}

    def run() -> None:
        compose(environment, {name: pulumi.Output.secret(text) for name, text in secrets.items()})

    return run


@cache
def registered(gateway: Whose = "ours", *, preview: bool = False) -> tuple[Registered, ...]:
    return tuple(render(program(gateway), preview=preview))


def test_each_machine_behind_the_tunnel_boots_with_a_key_of_its_own() -> None:
    for number, name in enumerate(("dgx-01", "dgx-02"), 11):
        data = named(registered(), "Secret")[f"dgx-{name}-boot"].inputs["stringData"]
        assert isinstance(data, Secret)
        assert isinstance(data.value, dict)
        text = str(data.value["userData"])
        assert boot(text, load("dgx-h200")).problems == ()
        said = "\n".join(texts(text))
        assert TUNNEL_KEYS[name] in said
        assert f"Address=10.13.0.{number}/24" in said
        assert [key for key in TUNNEL_KEYS.values() if key in said] == [TUNNEL_KEYS[name]]


@pytest.mark.parametrize("preview", [False, True])
def test_no_plain_input_holds_a_key_of_a_tunnel(*, preview: bool) -> None:
    for each in registered(preview=preview):
        shown = "\n".join(texts(plain(each.inputs)))
        assert not [name for name, key in TUNNEL_KEYS.items() if key in shown], each.name


def test_a_tunnel_to_someone_elses_gateway_adds_no_resource() -> None:
    theirs, none = (
        Counter((each.type, each.name) for each in registered(gateway))
        for gateway in ("theirs", "none")
    )
    assert theirs == none


def test_machines_of_other_sites_have_no_end_of_the_tunnel() -> None:
    servers = named(registered("theirs"), "Server")
    assert servers
    for each in servers.values():
        assert isinstance(each.inputs["userData"], Secret)
        assert "wg0" not in "\n".join(texts(each.inputs["userData"].value))


def test_a_gateway_of_the_program_is_one_server_that_comes_up_in_its_role() -> None:
    found = registered()
    (gateway,) = (each for each in found if each.type == "gpu:network:Gateway")
    server = named(found, "Server")["fra-gateway-server"].inputs
    assert (server["name"], server["serverType"]) == ("fleet-dev-fra-gateway", "ccx33")
    assert isinstance(server["userData"], Secret), "its private key stands in it"
    machine = boot(str(server["userData"].value), load("ccx33"))
    assert (machine.role, machine.problems) == ("gateway", ())
    said = "\n".join(texts(server["userData"].value))
    assert [key for key in TUNNEL_KEYS.values() if key in said] == [
        TUNNEL_KEYS["fleet-dev-fra-gateway"]
    ]
    assert isinstance(gateway.inputs["ignition"], str), "a rule reads the plain part"


def test_a_gateway_knows_each_machine_by_the_public_key_of_its_private_one() -> None:
    (gateway,) = (each for each in registered(preview=True) if each.type == "gpu:network:Gateway")
    said = "\n".join(texts(gateway.inputs["ignition"]))
    for number, name in enumerate(("dgx-01", "dgx-02"), 11):
        key = public_key(WireGuardKey(private_key=TUNNEL_KEYS[name]))
        assert f"PublicKey={key}\nAllowedIPs=10.13.0.{number}/32" in said
    assert "Address=10.13.0.1/24" in said
    assert "ListenPort=51820" in said, "which the endpoint of the tunnel names"


def test_the_world_reaches_a_gateway_at_its_tunnels_port_alone() -> None:
    rules = named(registered(), "Firewall")["fra-gateway-firewall"].inputs["rules"]
    assert isinstance(rules, list)
    assert [(rule["protocol"], rule.get("port")) for rule in rules] == [
        ("udp", "51820"),
        ("icmp", None),
    ]
    assert {rule["direction"] for rule in rules} == {"in"}


def test_the_servers_of_the_gateways_site_have_a_route_to_the_machines() -> None:
    found = registered()
    route = named(found, "NetworkRoute")["fra-gateway-route"].inputs
    (attached,) = cast(
        "list[dict[str, str]]", named(found, "Server")["fra-gateway-server"].inputs["networks"]
    )
    assert route["destination"] == TUNNEL["network"]
    assert route["gateway"] == attached["ip"] == "10.12.127.254"


def test_the_summary_has_the_address_for_the_dns_record_of_a_gateway() -> None:
    assert exported(program("theirs"))["gateways"] == {}
    assert list(cast("dict[str, str]", exported(program("ours"))["gateways"])) == ["fra"]
