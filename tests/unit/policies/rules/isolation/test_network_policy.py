"""The rule on plain manifests: what nobody has allowed is denied."""

from typing import Any

import pytest

from policies.language.stack import Stack
from policies.rules.isolation.network_policy import RULE
from tests.support.policies.gpu_pods import KINDS, container

Object = dict[str, Any]
OPEN = "NetworkPolicy 'default' must not let everybody reach all pods of its namespace."


def told(manifest: Object, *stack: Object, **settings: object) -> list[str]:
    """What both forms of the rule say."""
    assert RULE.predicate is not None
    assert RULE.across is not None
    said = {**RULE.defaults(), **settings}
    return [*RULE.predicate(manifest, said), *RULE.across(manifest, said, [manifest, *stack])]


def namespace(name: str = "desk", team: str | None = "desk") -> Object:
    labels = {"fleet.gpu/team": team} if team else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def policy(space: str = "desk", **spec: object) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "default", "namespace": space},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"], **spec},
    }


def lacks(directions: str = "Ingress", name: str = "desk") -> list[str]:
    must = f"must have a NetworkPolicy that selects all its pods, for {directions}."
    return [f"Namespace '{name}' {must}"]


def test_a_namespace_of_a_team_denies_by_default() -> None:
    assert told(namespace()) == lacks()
    assert told(namespace(), policy()) == []
    assert told(namespace(), policy(policyTypes=None)) == [], "Ingress is what it is without types"


@pytest.mark.parametrize(
    "other",
    [
        policy("other"),
        policy(policyTypes=["Egress"]),
        policy(podSelector={"matchLabels": {"app": "one"}}),
        policy(podSelector={"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
    ],
)
def test_a_policy_for_others_for_some_or_for_another_direction_is_none(other: Object) -> None:
    assert told(namespace(), other) == lacks()


def test_the_directions_are_a_setting() -> None:
    both = ["Ingress", "Egress"]

    assert told(namespace(), directions=both) == lacks("Ingress and Egress")
    assert told(namespace(), policy(), directions=both) == lacks("Egress")
    assert told(namespace(), policy(policyTypes=both), directions=both) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_namespace_in_which_the_stack_runs_pods_denies_too(kind: str) -> None:
    work = KINDS[kind]({"containers": [container()]})
    work["metadata"]["namespace"] = "tools"
    elsewhere = {**work, "metadata": {"name": "p", "namespace": "other"}}

    assert told(namespace("tools", team=None), work) == lacks(name="tools")
    assert told(namespace("tools", team=None), elsewhere) == []


def test_the_namespaces_of_charts_are_left_alone_and_are_a_setting() -> None:
    assert told(namespace("lakefs")) == []
    assert told(namespace("lakefs"), namespaces=[]) != []


def test_a_policy_that_lets_everybody_in_denies_nothing() -> None:
    assert told(policy(ingress=[{}])) == [OPEN]
    assert told(policy(ingress=[{"from": [{"podSelector": {}}]}])) == []
    assert told(policy(ingress=[{"ports": [{"port": 443}]}])) == []
    assert told(policy(ingress=[{}], podSelector={"matchLabels": {"app": "web"}})) == []
    assert told(policy(ingress=[])) == []


@pytest.mark.parametrize(
    "peer",
    [
        {"namespaceSelector": {}},
        {"namespaceSelector": {}, "podSelector": {}},
        {"ipBlock": {"cidr": "0.0.0.0/0"}},
        {"ipBlock": {"cidr": "::/0"}},
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}},
    ],
)
def test_everybody_may_also_be_named(peer: Object) -> None:
    some: Object = {"podSelector": {}}

    assert told(policy(ingress=[{"from": [some, peer]}])) == [OPEN]
    assert told(policy(ingress=[{"from": [peer], "ports": [{"port": 443}]}])) == []


@pytest.mark.parametrize(
    "peer",
    [
        {"namespaceSelector": {"matchLabels": {"app": "web"}}},
        {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "web"}}},
        {"namespaceSelector": None, "podSelector": {}},
        {"ipBlock": {"cidr": "10.0.0.0/8"}},
        {"ipBlock": {"cidr": "0.0.0.0/3", "except": ["0.0.0.0/4", "16.0.0.0/5"]}},
    ],
)
def test_some_are_not_everybody(peer: Object) -> None:
    assert told(policy(ingress=[{"from": [peer]}])) == []


def test_a_policy_with_rules_for_egress_denies_the_rest_of_it() -> None:
    out = policy(policyTypes=None, egress=[{"to": [{"podSelector": {}}]}])

    assert told(namespace(), out, directions=["Ingress", "Egress"]) == []


def cilium(kind: str = "CiliumNetworkPolicy", **spec: object) -> Object:
    return {
        "apiVersion": "cilium.io/v2",
        "kind": kind,
        "metadata": {"name": "default", "namespace": "desk"},
        "spec": {"endpointSelector": {}, **spec},
    }


WIDE = "CiliumClusterwideNetworkPolicy"
DESK = {"matchLabels": {"k8s:io.kubernetes.pod.namespace": "desk"}}


@pytest.mark.parametrize(
    "held",
    [
        cilium(ingress=[{}]),
        cilium(ingressDeny=[{"fromEntities": ["world"]}]),
        cilium(enableDefaultDeny={"ingress": True}),
        cilium(WIDE, ingress=[{}]),
        cilium(WIDE, endpointSelector=DESK, ingress=[{}]),
        {**cilium(), "spec": None, "specs": [cilium(ingress=[{}])["spec"]]},
    ],
)
def test_a_policy_of_cilium_denies_by_default_too(held: Object) -> None:
    assert told(namespace(), held) == []


@pytest.mark.parametrize(
    "other",
    [
        cilium(ingress=[]),
        cilium(egress=[{}]),
        cilium(ingress=[{}], enableDefaultDeny={"ingress": False}),
        cilium(ingress=[{}], endpointSelector={"matchLabels": {"app": "web"}}),
        cilium(
            WIDE, ingress=[{}], endpointSelector={"matchLabels": {**DESK["matchLabels"], "a": "b"}}
        ),
        {**cilium(ingress=[{}]), "metadata": {"name": "default", "namespace": "other"}},
        {**cilium(ingress=[{}]), "apiVersion": "example.com/v1"},
    ],
)
def test_a_policy_of_cilium_that_denies_others_or_nothing_is_none(other: Object) -> None:
    assert told(namespace(), other) == lacks()


@pytest.mark.parametrize("name", ["kube-public", "kube-node-lease"])
def test_the_namespaces_of_kubernetes_are_asked_for_none(name: str) -> None:
    assert told(namespace(name)) == []


class Elsewhere(dict[str, Any]):
    """An object of another namespace; what is in it is nobody's business."""

    def get(self, key: str, default: Any = None) -> Any:
        assert key in ("kind", "metadata"), f"its {key} was read"
        return super().get(key, default)


def test_objects_of_other_namespaces_are_not_looked_into() -> None:
    other = Elsewhere(apiVersion="v1", kind="Service", metadata={"name": "s", "namespace": "b"})
    assert RULE.across is not None

    for team, expected in (("desk", lacks()), (None, [])):
        stack = Stack([namespace(team=team), other])
        assert RULE.across(stack[0], RULE.defaults(), stack) == expected
