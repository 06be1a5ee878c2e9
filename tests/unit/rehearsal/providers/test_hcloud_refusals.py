"""Inputs that Hetzner Cloud, or the type of the SDK, refuses: path, value, what is allowed."""

import pytest

from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.support.rehearsal.provider_engine import FakeEngine, Refused

SERVER = "hcloud:index/server:Server"


NETWORK = "hcloud:index/network:Network"


SUBNET = "hcloud:index/networkSubnet:NetworkSubnet"


FIREWALL = "hcloud:index/firewall:Firewall"


GROUP = "hcloud:index/placementGroup:PlacementGroup"


BALANCER = "hcloud:index/loadBalancer:LoadBalancer"


SERVICE = "hcloud:index/loadBalancerService:LoadBalancerService"


TARGET = "hcloud:index/loadBalancerTarget:LoadBalancerTarget"


KEY = "hcloud:index/sshKey:SshKey"


ROUTE = "hcloud:index/networkRoute:NetworkRoute"


GOOD_SERVER: Properties = {"serverType": "ccx33", "image": "ubuntu-24.04", "location": "hel1"}


GOOD_RULE: Properties = {"direction": "in", "protocol": "tcp", "port": "22", "sourceIps": ["::/0"]}


GOOD_SUBNET: Properties = {
    "networkId": UNKNOWN,
    "type": "cloud",
    "networkZone": "eu-central",
    "ipRange": "10.0.0.0/24",
}


def server(**inputs: object) -> Properties:
    return {**GOOD_SERVER, **inputs}  # type: ignore[dict-item]  # plain data


def rules(**inputs: object) -> Properties:
    return {"rules": [{**GOOD_RULE, **inputs}]}  # type: ignore[dict-item]  # plain data


REFUSED: dict[str, tuple[str, Properties, str]] = {
    "an unknown property": (
        SERVER,
        server(serverTypo="x"),
        "serverTypo is not a property of Server; did you mean serverType?",
    ),
    "an unknown property in a list": (
        SERVER,
        server(networks=[{"netorkId": 1, "subnetId": "1-10.0.0.0/24"}]),
        "networks[0].netorkId is not a property of ServerNetwork; did you mean networkId?",
    ),
    "a missing property": (NETWORK, {"name": "n"}, "ipRange is missing, but Network needs it"),
    "a string for a number": (
        SERVER,
        server(placementGroupId="first"),
        'placementGroupId is "first", but it must be a whole number.',
    ),
    "a string for a list": (
        SERVER,
        server(firewallIds="12"),
        'firewallIds is "12", but it must be a list, each item a whole number.',
    ),
    "a number for a string": (
        SERVER,
        server(labels={"team": 7}),
        "labels.team is 7, but it must be a string.",
    ),
    "a string for true or false": (
        SERVER,
        server(backups="yes"),
        'backups is "yes", but it must be true or false.',
    ),
    "an unknown location": (
        SERVER,
        server(location="fsn9"),
        'location is "fsn9", but it must be one of fsn1, nbg1, hel1, ash, hil, sin.',
    ),
    "an unknown server type": (
        SERVER,
        server(serverType="ccx99"),
        'serverType is "ccx99", but it must be one of cx23',
    ),
    "an unknown image": (SERVER, server(image="flatcar"), 'image is "flatcar", but it must be'),
    "a server without image": (
        SERVER,
        {"serverType": "ccx33"},
        "image is missing: no server can be made without one.",
    ),
    "an image of another architecture": (
        SERVER,
        server(image="459302051"),
        'image is "459302051", which is for arm, but the server type ccx33 is x86.',
    ),
    "a name that is no host name": (
        SERVER,
        server(name="node_1"),
        'name is "node_1", but it must be a host name of RFC 1123',
    ),
    "a datacenter": (
        SERVER,
        server(datacenter="hel1-dc2"),
        'datacenter is "hel1-dc2", but Hetzner has removed datacenters: give location.',
    ),
    "user data over 32 KiB": (
        SERVER,
        server(userData="x" * 32769),
        "but it must have at most 32768 bytes and has 32769",
    ),
    "a label value with a space": (
        SERVER,
        server(labels={"team": "two words"}),
        'labels is an object with team, but the value of "team" must have at most 63 letters',
    ),
    "one protection without the other": (
        SERVER,
        server(deleteProtection=True),
        "rebuildProtection is null, but it must be the same as deleteProtection, true.",
    ),
    "a network without subnet or network": (
        SERVER,
        server(networks=[{"ip": "10.0.0.2"}]),
        "networks[0] is an object with ip, but it must have subnetId or networkId.",
    ),
    "no CIDR": (NETWORK, {"ipRange": "10.0.0.0"}, 'ipRange is "10.0.0.0", but it must be an IPv4'),
    "host bits": (NETWORK, {"ipRange": "10.0.0.1/16"}, 'ipRange is "10.0.0.1/16", but it must be'),
    "a public range": (
        NETWORK,
        {"ipRange": "8.8.0.0/16"},
        'ipRange is "8.8.0.0/16", but it must lie in one of the private ranges',
    ),
    "a network that is too small": (
        NETWORK,
        {"ipRange": "10.0.0.0/28"},
        'ipRange is "10.0.0.0/28", but it must not be smaller than a /24.',
    ),
    "an unknown subnet type": (
        SUBNET,
        {
            "networkId": UNKNOWN,
            "type": "private",
            "networkZone": "eu-central",
            "ipRange": "10.0.0.0/24",
        },
        'type is "private", but it must be one of cloud, server, vswitch.',
    ),
    "an unknown network zone": (
        SUBNET,
        {**GOOD_SUBNET, "networkZone": "eu"},
        'networkZone is "eu", but it must be one of eu-central, us-east, us-west, ap-southeast.',
    ),
    "a vswitch outside eu-central": (
        SUBNET,
        {**GOOD_SUBNET, "type": "vswitch", "vswitchId": 4, "networkZone": "us-east"},
        'networkZone is "us-east", but a vswitch must be in eu-central.',
    ),
    "a gateway that is no address": (
        ROUTE,
        {"networkId": 1, "destination": "10.9.0.0/16", "gateway": "gw"},
        'gateway is "gw", but it must be an IP address such as 10.20.0.5.',
    ),
    "a bad source of a firewall rule": (
        FIREWALL,
        rules(sourceIps=["10.0.0.1/8"]),
        'rules[0].sourceIps[0] is "10.0.0.1/8", but it must be an IP address, or a network',
    ),
    "a port out of range": (
        FIREWALL,
        rules(port="70000"),
        'rules[0].port is "70000", but it must be a port such as 80, a range such as 80-85',
    ),
    "a range of ports backwards": (FIREWALL, rules(port="85-80"), 'rules[0].port is "85-80", but'),
    "tcp without port": (FIREWALL, rules(port=None), "but a rule for tcp must have a port."),
    "icmp with a port": (
        FIREWALL,
        rules(protocol="icmp"),
        "but a rule for icmp must not have a port.",
    ),
    "an unknown protocol": (
        FIREWALL,
        rules(protocol="sctp"),
        'rules[0].protocol is "sctp", but it must be one of tcp, udp, icmp, esp, gre.',
    ),
    "a rule inwards without sources": (
        FIREWALL,
        rules(sourceIps=None),
        'but a rule of direction "in" must have sourceIps.',
    ),
    "an unknown type of placement group": (
        GROUP,
        {"type": "pack"},
        'type is "pack", but it must be one of spread.',
    ),
    "a public key that is none": (
        KEY,
        {"publicKey": "ssh-ed25519 AAAA"},
        'publicKey is "ssh-ed25519 AAAA", but it must be an OpenSSH public key',
    ),
    "an unknown load balancer type": (
        BALANCER,
        {"loadBalancerType": "lb99", "location": "hel1"},
        'loadBalancerType is "lb99", but it must be one of lb11, lb21, lb31.',
    ),
    "a load balancer in two places": (
        BALANCER,
        {"loadBalancerType": "lb11", "location": "hel1", "networkZone": "eu-central"},
        "location and networkZone are both given, but a load balancer must have exactly one",
    ),
    "a tcp service without port": (
        SERVICE,
        {"loadBalancerId": "1", "protocol": "tcp", "destinationPort": 6443},
        "listenPort is missing: a tcp service must have it.",
    ),
    "a port of zero": (
        SERVICE,
        {"loadBalancerId": "1", "protocol": "tcp", "listenPort": 0, "destinationPort": 6443},
        "listenPort is 0, but it must be from 1 to 65535.",
    ),
    "a target that is two things": (
        TARGET,
        {"loadBalancerId": 1, "type": "server", "serverId": 2, "ip": "10.0.0.2"},
        "a target of type server must have serverId alone, but has serverId and ip.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_hcloud_refuses(case: str, hcloud: FakeEngine) -> None:
    type_, inputs, expected = REFUSED[case]
    assert expected in hcloud.refusal(type_, inputs)


def test_all_mistakes_of_a_resource_are_reported_at_once(hcloud: FakeEngine) -> None:
    sentences = hcloud.refusals(SERVER, server(location="x", image="y", backups=1, foo=2))
    assert len(sentences) == 4


def test_a_secret_value_is_never_quoted(hcloud: FakeEngine) -> None:
    inputs = server(userData=Secret("hunter2" * 5000), location=Secret("hunter2"))
    sentences = hcloud.refusals(SERVER, inputs)
    assert [sentence.split(",")[0] for sentence in sentences] == [
        "location is a secret value",
        "userData is a secret value",
    ]
    assert "hunter2" not in " ".join(sentences)


def test_an_unknown_value_passes(hcloud: FakeEngine) -> None:
    inputs = server(
        image=UNKNOWN,
        placementGroupId=UNKNOWN,
        firewallIds=[UNKNOWN],
        networks=[{"subnetId": UNKNOWN}],
        labels={"team": UNKNOWN},
    )
    assert hcloud.refusals(SERVER, inputs) == []


def test_a_number_may_come_as_the_text_that_ids_are(hcloud: FakeEngine) -> None:
    assert hcloud.refusals(SERVER, server(placementGroupId="12")) == []


def test_a_type_that_is_not_known_is_refused_by_name(hcloud: FakeEngine) -> None:
    sentence = hcloud.refusal("hcloud:index/volume:Volume", {"size": 10})
    assert sentence.startswith("hcloud:index/volume:Volume cannot be rehearsed")


def test_a_function_that_is_not_known_is_refused_by_name(hcloud: FakeEngine) -> None:
    with pytest.raises(Refused, match="getServers:getServers cannot be rehearsed"):
        hcloud.invoke("hcloud:index/getServers:getServers", {})


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "token is missing, but the hcloud provider needs one."),
        ({"token": Secret("short")}, "token is a secret value of 5 characters, but"),
    ],
)
def test_a_provider_without_a_good_token_is_refused(
    config: Properties, sentence: str, hcloud: FakeEngine
) -> None:
    (found,) = hcloud.config_refusals("hcloud", config)
    assert sentence in found
