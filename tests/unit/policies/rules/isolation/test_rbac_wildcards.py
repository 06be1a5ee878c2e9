"""The rule on plain manifests: nobody may do what nobody has named."""

import json
from typing import Any

import pytest

from policies.rules.isolation.rbac_wildcards import RULE

Object = dict[str, Any]
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]}


def told(manifest: Object) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, RULE.defaults())


def role(*rules: Object, kind: str = "ClusterRole", name: str = "desk") -> Object:
    version = "rbac.authorization.k8s.io/v1"
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name},
        "rules": list(rules),
    }


def binding(kind: str, bound: str) -> Object:
    return {**role(kind=kind), "roleRef": {"kind": "ClusterRole", "name": bound}}


def policy(*statements: object, text: bool = True) -> Object:
    document = {"Statement": list(statements)}
    spec = {"policy": json.dumps(document) if text else document}
    return {"kind": "aws:iam/policy:Policy", "metadata": {"name": "desk"}, "spec": spec}


def allow(action: object) -> Object:
    return {"Effect": "Allow", "Action": action, "Resource": "*"}


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
@pytest.mark.parametrize("field", ["verbs", "resources", "apiGroups", "nonResourceURLs"])
def test_a_wildcard_is_refused(kind: str, field: str) -> None:
    manifest = role(PODS, {**PODS, field: ["get", "*"]}, kind=kind)

    assert told(manifest) == [f"{kind} 'desk' must name its {field} and not use a wildcard."]


def test_all_paths_are_a_wildcard_however_they_are_written() -> None:
    (said,) = told(role({"nonResourceURLs": ["/*"], "verbs": ["get"]}))

    assert said.endswith("must name its nonResourceURLs and not use a wildcard.")
    assert told(role({"nonResourceURLs": ["/logs/*"], "verbs": ["get"]})) == []


MASTERS = {"kind": "Group", "name": "system:masters"}


@pytest.mark.parametrize("name", ["cluster-admin", "kubeadm:cluster-admins", "system:mine"])
def test_a_binding_is_known_by_its_subjects_and_not_by_its_name(name: str) -> None:
    manifest = {**binding("ClusterRoleBinding", "cluster-admin"), "metadata": {"name": name}}
    mine = {"kind": "Group", "name": "desk"}

    assert told(manifest) == [f"ClusterRoleBinding '{name}' must not bind cluster-admin."]
    assert told({**manifest, "subjects": [MASTERS, mine]}) != []
    assert told({**manifest, "subjects": [MASTERS]}) == []


def test_an_account_of_the_same_name_in_another_namespace_is_another_subject() -> None:
    subject = {"kind": "ServiceAccount", "name": "ops", "namespace": "kube-system"}
    manifest = binding("ClusterRoleBinding", "cluster-admin")
    settings = {**RULE.defaults(), "administrators": ["ServiceAccount/kube-system/ops"]}

    def said(namespace: str) -> list[str]:
        bound = {**manifest, "subjects": [{**subject, "namespace": namespace}]}
        assert RULE.predicate is not None
        return RULE.predicate(bound, settings)

    assert said("kube-system") == []
    assert said("desk") != []


@pytest.mark.parametrize("kind", ["RoleBinding", "ClusterRoleBinding"])
def test_nobody_is_bound_to_cluster_admin(kind: str) -> None:
    assert told(binding(kind, "cluster-admin")) == [f"{kind} 'desk' must not bind cluster-admin."]
    assert told(binding(kind, "view")) == []


def test_a_role_that_names_what_it_allows_passes() -> None:
    assert told(role(PODS)) == []
    assert told(role()) == []
    assert told({**role(), "rules": None}) == []


METRICS = {"apiGroups": ["metrics.k8s.io"], "resources": ["*"], "verbs": ["*"]}


def test_roles_of_charts_are_known_by_their_name_and_by_what_they_hold() -> None:
    name = "resource-metrics-server-resources"

    assert told(role(METRICS, PODS, name=name)) == []
    assert told(role(METRICS, name="mine")) != []
    assert told(role({**METRICS, "apiGroups": ["metrics.k8s.io", "apps"]}, name=name)) != []
    assert told(role({**PODS, "verbs": ["*"]}, name=name)) != []


def test_a_known_role_may_hold_what_anybody_may_and_no_more_of_the_rest() -> None:
    name, verbs = "kube-state-metrics", ["list", "watch"]
    seen = {"apiGroups": [""], "resources": ["nodes", "secrets"], "verbs": verbs}

    assert told(role(seen, name=name)) == []
    assert told(role({**seen, "verbs": [*verbs, "get"]}, name=name)) != []
    assert told(role({**seen, "resources": ["secrets", "nodes/proxy"]}, name=name)) != []


def test_the_cloud_controller_of_hetzner_may_do_all_to_nodes_and_to_nothing_else() -> None:
    name = "system:hcloud-cloud-controller-manager"
    every = {**PODS, "resources": ["nodes"], "verbs": ["*"]}

    assert told(role(every, name=name)) == []
    assert told(role({**every, "resources": ["nodes", "nodes/proxy"]}, name=name)) != []
    assert told(role({**every, "resources": ["secrets"]}, name=name)) != []
    assert told(role(every, name="mine")) != []


def test_a_role_of_the_setting_is_known_too() -> None:
    assert RULE.predicate is not None
    known = {"name": "mine", "rules": [METRICS]}
    settings = {**RULE.defaults(), "roles": [known]}

    assert RULE.predicate(role(METRICS, name="mine"), settings) == []
    assert RULE.predicate(role(METRICS, name="yours"), settings) != []
    assert RULE.predicate(role({**METRICS, "apiGroups": [""]}, name="mine"), settings) != []


@pytest.mark.parametrize("name", ["cluster-admin", "system:controller:namespace-controller"])
def test_roles_of_kubernetes_are_known(name: str) -> None:
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["delete", "get"]}

    assert told(role(everything, name=name)) == []
    assert told(role(everything, name="system:controller:mine")) != []


@pytest.mark.parametrize("action", ["*", "s3:*", ["s3:GetObject", "ec2:*"]])
@pytest.mark.parametrize("text", [True, False])
def test_a_policy_of_aws_that_allows_all_is_refused(action: object, text: bool) -> None:
    must = "must name the actions that it allows and not use a wildcard."

    assert told(policy(allow(action), text=text)) == [f"aws:iam/policy:Policy 'desk' {must}"]


@pytest.mark.parametrize(
    "statement",
    [
        allow(["s3:GetObject", "ec2:Describe*"]),
        {"Effect": "Deny", "Action": "s3:*"},
    ],
)
def test_a_policy_of_aws_that_names_actions_or_denies_passes(statement: Object) -> None:
    assert told(policy(statement)) == []


def test_a_policy_of_aws_that_allows_all_but_a_few_is_refused() -> None:
    assert told(policy({"Effect": "Allow", "NotAction": "iam:*"})) != []
    assert told(policy({"Effect": "Deny", "NotAction": "iam:*"})) == []


def test_a_policy_that_nobody_can_read_is_refused() -> None:
    manifest = policy()
    manifest["spec"]["policy"] = "{"

    assert told(manifest) == ["aws:iam/policy:Policy 'desk' must be a policy that can be read."]


def test_a_role_of_another_api_is_nobodys_business() -> None:
    other = {**role({**PODS, "verbs": ["*"]}), "apiVersion": "example.com/v1"}

    assert told(other) == []
