"""The rule on plain manifests: what leads to more, and to whom it is bound."""

from typing import Any

import pytest

from policies.language.known_rights import ACCOUNTS, KNOWN
from policies.rules.isolation.rbac_wildcards import RULE

Object = dict[str, Any]
GROUP = "rbac.authorization.k8s.io"
GATES = "admissionregistration.k8s.io"


def told(manifest: Object) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, RULE.defaults())


def role(kind: str, name: str, **rule: list[str]) -> Object:
    rules = [{"apiGroups": [""], "verbs": ["get"], **rule}]
    metadata = {"name": name}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules}


def bound(kind: str, name: str, *subjects: Object) -> Object:
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
    found = {**role(kind, "mine"), "roleRef": reference, "subjects": list(subjects)}
    del found["rules"]
    return found


def account(name: str, namespace: str = "research") -> Object:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


@pytest.mark.parametrize("name", ["admin", "edit", "fleet-team", "system:aggregate-to-edit"])
def test_a_role_for_people_is_bound_in_their_namespaces(name: str) -> None:
    must = f"must not bind {name} in all namespaces; a RoleBinding gives it in one."

    assert told(bound("ClusterRoleBinding", name, account("default"))) == [
        f"ClusterRoleBinding 'mine' {must}"
    ]
    assert told(bound("RoleBinding", name, account("default"))) == []


def test_a_controllers_role_is_for_its_account_alone() -> None:
    name = "system:controller:generic-garbage-collector"
    own = account("generic-garbage-collector", "kube-system")
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        assert told(bound(kind, name, own)) == []
        assert told(bound(kind, name, own, account("default"))) == [
            f"{kind} 'mine' must bind {name} to its own account alone."
        ]


def test_every_known_role_may_be_bound_to_the_account_that_it_is_meant_for() -> None:
    for name, subjects in ACCOUNTS.items():
        for subject in subjects:
            kind, _, rest = subject.partition("/")
            space, _, called = rest.rpartition("/")
            found = {"kind": kind, "name": called if kind == "ServiceAccount" else rest}
            found |= {"namespace": space.replace("*", "any")} if kind == "ServiceAccount" else {}
            assert told(bound("ClusterRoleBinding", name, found)) == [], name
        assert told(bound("ClusterRoleBinding", name, account("default"))) != [], name


def test_a_name_is_known_of_cluster_roles_alone() -> None:
    for name, rules in KNOWN.items():
        held = [dict(rule) for rule in rules]
        assert told({**role("ClusterRole", name), "rules": held}) == [], name
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    assert told(role("ClusterRole", "cluster-admin", **everything)) == []
    assert told(role("Role", "cluster-admin", **everything)) != []


@pytest.mark.parametrize(
    ("group", "resource", "verb"),
    [
        (GATES, "validatingadmissionpolicies", "update"),
        (GATES, "validatingadmissionpolicybindings", "delete"),
        (GATES, "mutatingwebhookconfigurations", "create"),
        ("certificates.k8s.io", "signers", "approve"),
        ("", "namespaces", "patch"),
        ("", "nodes", "patch"),
        ("", "pods/binding", "create"),
    ],
)
def test_what_leads_to_more_is_refused_by_its_own_words(
    group: str, resource: str, verb: str
) -> None:
    allowed = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}

    assert len(told(role("ClusterRole", "mine", **allowed))) == 1
    assert told(role("ClusterRole", "mine", **{**allowed, "verbs": ["list"]})) == []


def test_one_object_by_its_name_is_not_all_of_them() -> None:
    hooks = {"apiGroups": [GATES], "resources": ["validatingwebhookconfigurations"]}
    signers = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"]}
    serving, client = "kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client"

    def says(rule: Object, verb: str, name: str) -> list[str]:
        return told(role("ClusterRole", "mine", **rule, verbs=[verb], resourceNames=[name]))

    assert says(hooks, "update", "mine") == []
    assert says(signers, "approve", serving) == []
    assert says(signers, "approve", client) != []
