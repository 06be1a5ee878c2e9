"""The rule on plain manifests: what everybody can reach."""

from typing import Any

import pytest

from policies.rules.isolation.open_to_world import RULE

Object = dict[str, Any]
EVERYBODY = ["0.0.0.0/0", "::/0"]
FIREWALL = "hcloud:index/firewall:Firewall"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
SERVICE = "must not open a port of SSH or of the control plane to everybody."


def told(kind: str, spec: Object, **settings: object) -> list[str]:
    assert RULE.predicate is not None
    manifest: Object = {"kind": kind, "metadata": {"name": "x"}, "spec": spec}
    if kind == "Service":
        manifest["apiVersion"] = "v1"
    said = RULE.predicate(manifest, {**RULE.defaults(), **settings})
    return [each.removeprefix(f"{kind} 'x' ") for each in said]


def firewall(port: str | None, **fields: object) -> Object:
    rule = {"direction": "in", "protocol": "tcp", "sourceIps": EVERYBODY, "port": port, **fields}
    return {"rules": [rule]}


@pytest.mark.parametrize(
    ("port", "opened"),
    [("22", ["22"]), ("6443", ["6443"]), ("2000-2379", ["2379"]), ("443", []), ("23-2378", [])],
)
def test_a_firewall_opens_no_guarded_port(port: str, opened: list[str]) -> None:
    assert told(FIREWALL, firewall(port)) == [
        f"must not open port {each} to everybody." for each in opened
    ]


def test_a_firewall_without_a_port_opens_all() -> None:
    assert len(told(FIREWALL, firewall("any"))) == 5
    assert len(told(FIREWALL, firewall(None))) == 5


@pytest.mark.parametrize(
    "fields",
    [
        {"sourceIps": ["10.0.0.0/8"]},
        {"direction": "out"},
        {"protocol": "udp"},
        {"protocol": "icmp"},
    ],
)
def test_what_is_not_for_everybody_or_no_tcp_passes(fields: Object) -> None:
    assert told(FIREWALL, firewall("22", **fields)) == []


def test_a_server_needs_a_firewall() -> None:
    server = "hcloud:index/server:Server"

    assert told(server, {"name": "a"}) == ["must have a firewall."]
    assert told(server, {"firewallIds": []}) == ["must have a firewall."]
    assert told(server, {"firewallIds": [1]}) == []


@pytest.mark.parametrize(
    "rule",
    [
        {"protocol": "tcp", "fromPort": 22, "toPort": 22, "cidrBlocks": EVERYBODY},
        {"protocol": "tcp", "fromPort": 0, "toPort": 1024, "ipv6CidrBlocks": ["::/0"]},
        {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": EVERYBODY},
    ],
)
def test_a_security_group_opens_no_guarded_port(rule: Object) -> None:
    said = "must not open port 22 to everybody."

    assert said in told(GROUP, {"ingress": [rule]})
    assert said in told("aws:ec2/securityGroupRule:SecurityGroupRule", {"type": "ingress", **rule})
    assert told("aws:ec2/securityGroupRule:SecurityGroupRule", {"type": "egress", **rule}) == []


@pytest.mark.parametrize(
    "rule",
    [
        {"protocol": "tcp", "fromPort": 22, "toPort": 22, "cidrBlocks": ["10.0.0.0/8"]},
        {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": EVERYBODY},
        {"protocol": "udp", "fromPort": 22, "toPort": 22, "cidrBlocks": EVERYBODY},
        {"protocol": "-1", "self": True},
    ],
)
def test_a_security_group_may_open_others_and_to_some(rule: Object) -> None:
    assert told(GROUP, {"ingress": [rule]}) == []


def test_the_newer_rule_of_a_security_group_is_known() -> None:
    kind = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
    rule = {"ipProtocol": "tcp", "fromPort": 22, "toPort": 22}

    assert told(kind, {**rule, "cidrIpv4": "0.0.0.0/0"}) != []
    assert told(kind, {**rule, "cidrIpv6": "::/0"}) != []
    assert told(kind, {**rule, "cidrIpv4": "10.0.0.0/8"}) == []


@pytest.mark.parametrize(
    ("network", "is_open"),
    [
        ({}, True),
        ({"publicAccessCidrs": ["0.0.0.0/0"]}, True),
        ({"publicAccessCidrs": ["10.0.0.0/8"]}, False),
        ({"endpointPublicAccess": False}, False),
    ],
)
def test_the_api_of_a_cluster_is_for_some(network: Object, is_open: bool) -> None:
    assert bool(told("aws:eks/cluster:Cluster", {"vpcConfig": network})) is is_open


@pytest.mark.parametrize(
    ("spec", "is_open"),
    [
        ({}, True),
        ({"loadBalancerSourceRanges": ["0.0.0.0/0"]}, True),
        ({"loadBalancerSourceRanges": ["10.0.0.0/8"]}, False),
        ({"type": "ClusterIP"}, False),
        ({"ports": [{"port": 443}]}, False),
    ],
)
def test_a_service_opens_no_guarded_port(spec: Object, is_open: bool) -> None:
    whole = {"type": "LoadBalancer", "ports": [{"port": 22}], **spec}

    assert told("Service", whole) == ([SERVICE] if is_open else [])


def test_ranges_count_where_the_load_balancers_hold_to_them() -> None:
    service = {"type": "LoadBalancer", "ports": [{"port": 22}]}
    some = {**service, "loadBalancerSourceRanges": ["10.0.0.0/8"]}

    assert told("Service", some, facts={"balancers_filter": True}) == []
    assert told("Service", some, facts={"balancers_filter": False}) == [SERVICE]
    inside = {**some, "type": "ClusterIP"}
    assert told("Service", inside, facts={"balancers_filter": False}) == []


def test_the_ports_are_a_setting() -> None:
    assert told(FIREWALL, firewall("22"), ports=[3389]) == []
    assert told(FIREWALL, firewall("3389"), ports=[3389]) != []
