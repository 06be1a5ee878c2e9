"""Hetzner: the closed network, and the servers of a pool."""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network
from itertools import pairwise
from typing import Any

import pytest

from components.network.hetzner import HetznerNetwork, HetznerNetworkArgs
from components.pools.boot import PoolBoot, PoolError
from components.pools.hetzner import HetznerPool, HetznerPoolArgs
from hardware.catalogue import load
from ignition.boot.node import boot as boot_machine
from ignition.butane.urls import decode
from ignition.write.payload import HETZNER_LIMIT_BYTES
from settings import HetznerPoolSettings
from tests.support.components.boots import boot as boot_of
from tests.support.components.boots import changed, lengthened
from tests.support.recorder import Registered, Secret, invoked, named, render


def network() -> HetznerNetwork:
    return HetznerNetwork(
        "site",
        HetznerNetworkArgs(cluster="fleet-test", site="here", cidr="10.12.0.0/16", location="hel1"),
    )


def pool(boot: PoolBoot | None = None, **changes: Any) -> Callable[[], None]:
    """Return a program with one pool; `changes` are fields of the declared pool."""

    def program() -> None:
        made, declared = changed(
            boot or boot_of("ccx33", purpose="batch"), HetznerPoolSettings, changes
        )
        args = HetznerPoolArgs(boot=made, pool=declared, network=network())
        HetznerPool("pool", args)

    return program


def servers(resources: list[Registered]) -> list[Mapping[str, Any]]:
    return [each.inputs for each in named(resources, "Server").values()]


def test_neither_ssh_nor_an_api_is_open_to_the_world() -> None:
    (firewall,) = named(render(network), "Firewall").values()
    rules = firewall.inputs["rules"]
    assert isinstance(rules, list)
    inbound = [rule for rule in rules if rule["direction"] == "in"]
    assert [rule["protocol"] for rule in inbound] == ["icmp"]


def test_servers_get_half_of_the_sites_range_and_the_rest_stays_free() -> None:
    (subnet,) = named(render(network), "NetworkSubnet").values()
    assert subnet.inputs["ipRange"] == "10.12.0.0/17"
    assert subnet.inputs["networkZone"] == "eu-central"
    assert IPv4Network("10.12.0.0/16").supernet_of(IPv4Network(str(subnet.inputs["ipRange"])))


def test_a_location_without_known_zone_is_refused() -> None:
    with pytest.raises(ValueError, match='location is "mars"; allowed: fsn1, nbg1, hel1'):
        HetznerNetworkArgs(cluster="c", site="s", cidr="10.0.0.0/16", location="mars")


def test_every_server_is_behind_the_firewall_and_in_the_private_network() -> None:
    resources = render(pool())
    (firewall,) = named(resources, "Firewall").values()
    for server in servers(resources):
        assert len(server["firewallIds"]) == 1
        assert len(server["networks"]) == 1
    assert firewall.name == "site-firewall"


def test_user_data_is_secret_and_names_the_server() -> None:
    for server in servers(render(pool())):
        user_data = server["userData"]
        assert isinstance(user_data, Secret), "the join token stands in it"
        machine = boot_machine(str(user_data.value), load("ccx33"))
        assert machine.problems == ()
        assert machine.node is not None
        assert machine.node.hostname == server["name"], "the cloud controller finds nodes by name"


def test_each_server_may_join_for_an_hour_from_when_it_was_made() -> None:
    resources = render(pool())
    made, tokens = named(resources, "Server"), named(resources, "BootstrapToken")
    assert tokens.keys() == {f"{name}-token" for name in made}
    for name, server in made.items():
        token = tokens[f"{name}-token"]
        assert any(urn.endswith(f"::{name}") for urn in token.depends_on)
        assert (token.inputs["node"], token.inputs["hours"]) == (server.inputs["name"], 1)
        said, whole = token.inputs["token"], server.inputs["userData"]
        assert isinstance(said, Secret)
        assert isinstance(whole, Secret)
        (merge,) = json.loads(str(whole.value))["ignition"]["config"]["merge"]
        assert str(said.value) in "".join(
            decode(file["contents"]["source"]).decode()
            for file in json.loads(decode(merge["source"]))["storage"]["files"]
        )


def test_a_cpu_server_takes_pods_that_tolerate_nothing() -> None:
    user_data = servers(render(pool()))[0]["userData"]
    machine = boot_machine(str(user_data.value), load("ccx33"))
    assert machine.node is not None
    assert not machine.node.taints


def test_the_old_server_is_deleted_before_the_new_one_because_names_are_unique() -> None:
    assert all(each.delete_before_replace for each in named(render(pool()), "Server").values())


def test_a_server_waits_for_the_turn_of_the_one_before_it_so_that_one_is_away_at_a_time() -> None:
    resources = render(pool(nodes=12))
    made, turns = named(resources, "Server"), named(resources, "ServerTurn")
    names = [f"pool-{number}" for number in range(1, 13)]
    assert {name: awaited(made[name]) & {*turns} for name in names} == {
        "pool-1": set(),
        **{name: {f"{before}-turn"} for before, name in pairwise(names)},
    }
    for name in names:
        assert name in awaited(turns[f"{name}-turn"]), "a node is drained before its server goes"


def test_what_needs_the_machines_of_a_pool_waits_for_all_of_its_nodes() -> None:
    resources = render(pool(nodes=3))
    (ready,) = named(resources, "NodeReady").values()
    servers = [server.inputs["name"] for server in named(resources, "Server").values()]
    assert ready.inputs["nodes"] == servers
    assert awaited(ready) == {"pool-3-turn"}


def awaited(resource: Registered) -> set[str]:
    return {urn.rsplit("::", 1)[-1] for urn in resource.depends_on}


@pytest.mark.parametrize(("nodes", "groups"), [(1, 1), (10, 1), (11, 2), (25, 3)])
def test_a_placement_group_never_holds_more_servers_than_hetzner_allows(
    nodes: int, groups: int
) -> None:
    resources = render(pool(nodes=nodes))
    placed = [server["placementGroupId"] for server in servers(resources)]
    assert len(placed) == nodes
    assert len(named(resources, "PlacementGroup")) == len(set(placed)) == groups
    assert max(placed.count(group) for group in placed) <= 10


def test_the_snapshot_is_searched_by_release_and_architecture() -> None:
    assert {server["image"] for server in servers(render(pool()))} == {"4711"}
    arm = dataclasses.replace(load("ccx33"), arch="arm64", name="cax41")

    def program() -> None:
        made = boot_of("ccx33", purpose="batch")
        pool(boot=dataclasses.replace(made, pool=dataclasses.replace(made.pool, hardware=arm)))()

    ((token, arguments),) = invoked(program)
    assert token == "hcloud:index/getImage:getImage"
    assert arguments == {
        "mostRecent": True,
        "withArchitecture": "arm",
        "withSelector": "os=flatcar,flatcar=4593.2.5",
    }


@pytest.mark.parametrize(
    "words",
    [
        "no image found matching the selection",
        "Resource not found: Resource (image) was not found using label selector: os=flatcar",
        'hcloud getImage: no image matches the selector "os=flatcar".',
    ],
)
def test_a_missing_snapshot_is_one_sentence_with_the_way_out(words: str) -> None:
    with pytest.raises(PoolError) as caught:
        render(pool(), not_found="hcloud:index/getImage:getImage", because=words)
    assert str(caught.value).startswith(
        "pool pool: the Hetzner project has no x86 snapshot with the labels "
        "os=flatcar,flatcar=4593.2.5; make one with `hcloud-upload-image upload --labels` ("
    )


def test_an_unreachable_hetzner_is_not_reported_as_a_missing_snapshot() -> None:
    words = "hcloud: unable to authenticate\n(unauthorized, 1a2b)"
    with pytest.raises(PoolError) as caught:
        render(pool(), not_found="hcloud:index/getImage:getImage", because=words)
    sentence = str(caught.value)
    assert sentence.startswith(
        "pool pool: Hetzner could not be asked for the snapshot with the labels "
        "os=flatcar,flatcar=4593.2.5; check the secret gpu-fleet:hcloud_token and the network ("
    )
    assert "hcloud: unable to authenticate (unauthorized, 1a2b)" in sentence
    assert "hcloud-upload-image" not in sentence


def long_pool(text: str) -> Callable[[], None]:
    def program() -> None:
        pool(boot=lengthened(boot_of("ccx33", purpose="batch"), text))()

    return program


def test_user_data_that_hetzner_would_refuse_is_refused_with_the_sizes() -> None:
    with pytest.raises(PoolError) as caught:
        render(long_pool("x" * HETZNER_LIMIT_BYTES))
    assert re.fullmatch(
        r"pool pool: the boot data has \d+ bytes, and there is no object store for what is longer "
        r"than the user data; allowed: 32768 bytes for ccx33\.",
        str(caught.value),
    )
