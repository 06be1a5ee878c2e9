"""Which rights of a controller were used, were never used, and are missing."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from rehearsal import rights
from rehearsal.api import Api
from rehearsal.rights import Right

USER = "system:serviceaccount:volcano-system:volcano-scheduler"
ACCOUNT = {
    "kind": "ServiceAccount",
    "name": "volcano-scheduler",
    "namespace": "volcano-system",
}
RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "delete"]},
    {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
]


class FakeApi:
    """The roles and bindings of a cluster."""

    def __init__(self, **items: list[dict[str, Any]]) -> None:
        self.kinds = items

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.kinds.get(path.rpartition("/")[2], [])


def role(rules: list[dict[str, Any]], **metadata: str) -> dict[str, Any]:
    return {"metadata": {"name": "it", **metadata}, "rules": rules}


def binding(kind: str, subject: dict[str, str], **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "bound", **metadata},
        "roleRef": {"kind": kind, "name": "it"},
        "subjects": [subject],
    }


def cluster(rules: list[dict[str, Any]] = RULES) -> Api:
    made = FakeApi(
        clusterroles=[role(rules)], clusterrolebindings=[binding("ClusterRole", ACCOUNT)]
    )
    return cast("Api", made)


def request(verb: str, resource: str, decision: str = "allow", **about: str) -> str:
    event = {
        "verb": verb,
        "user": {"username": USER},
        "objectRef": {"resource": resource, **about},
        "annotations": {"authorization.k8s.io/decision": decision},
    }
    return json.dumps(event)


def use(directory: Path, api: Api, *lines: str) -> rights.Use:
    (directory / rights.LOG).write_text("\n".join(lines))
    return rights.uses(api, directory, [USER])[USER]


def test_a_right_that_nobody_asked_for_was_never_used(tmp_path: Path) -> None:
    found = use(tmp_path, cluster(), request("list", "pods"))
    assert [str(each) for each in found.used] == ["list pods"]
    assert [str(each) for each in found.never_used] == ["delete pods", "create pods/binding"]
    assert found.missing == ()


def test_a_request_that_rbac_refuses_is_a_missing_right(tmp_path: Path) -> None:
    refused = request("patch", "podgroups", "forbid", apiGroup="scheduling.volcano.sh", name="a")
    again = request("patch", "podgroups", "forbid", apiGroup="scheduling.volcano.sh", name="b")
    found = use(tmp_path, cluster(), refused, again)
    assert [str(each) for each in found.missing] == ["patch podgroups.scheduling.volcano.sh"]


@pytest.mark.parametrize(
    ("answers", "missing"),
    [(("forbid", "allow"), []), (("allow", "forbid"), ["create pods in research"])],
    ids=["given meanwhile", "taken away meanwhile"],
)
def test_of_several_answers_the_last_counts(
    tmp_path: Path, answers: tuple[str, str], missing: list[str]
) -> None:
    requests = [request("create", "pods", each, namespace="research") for each in answers]
    found = use(tmp_path, cluster(), *requests)
    assert [str(each) for each in found.missing] == missing


def test_what_an_admission_rule_refuses_is_no_missing_right(tmp_path: Path) -> None:
    denied = json.loads(request("delete", "pods", namespace="research", name="a"))
    found = use(tmp_path, cluster(), json.dumps({**denied, "responseStatus": {"code": 403}}))
    assert found.missing == ()
    assert "delete pods" in map(str, found.used)


APPLIES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "patch", "update"]}]
FORBIDDEN = (
    'pods "a" is forbidden: User "system:serviceaccount:volcano-system:volcano-scheduler" cannot '
    'create resource "pods" in API group "" in the namespace "research"'
)


def answered(verb: str, code: int, message: str = "") -> str:
    asked = json.loads(request(verb, "pods", namespace="research", name="a"))
    return json.dumps({**asked, "responseStatus": {"code": code, "message": message}})


@pytest.mark.parametrize("verb", ["patch", "update"])
def test_what_an_apply_or_an_update_creates_uses_the_right_to_create(
    tmp_path: Path, verb: str
) -> None:
    found = use(tmp_path, cluster(APPLIES), answered(verb, 201))
    assert [str(each) for each in found.used] == ["create pods", f"{verb} pods"]
    by_name = [{**APPLIES[0], "resourceNames": ["a"]}]
    named = use(tmp_path, cluster(by_name), answered(verb, 201))
    assert [each.verb for each in named.used] == ["create", verb], "the address has the name"
    changed = use(tmp_path, cluster(APPLIES), answered(verb, 200))
    assert [str(each) for each in changed.used] == [f"{verb} pods"]


@pytest.mark.parametrize("verb", ["patch", "update"])
def test_an_apply_or_an_update_that_may_not_create_lacks_that_right(
    tmp_path: Path, verb: str
) -> None:
    refused = answered(verb, 403, FORBIDDEN)
    assert [str(each) for each in use(tmp_path, cluster([]), refused).missing] == [
        "create pods in research"
    ]
    by_a_rule = answered(verb, 403, "a ValidatingAdmissionPolicy denied the request")
    assert use(tmp_path, cluster([]), by_a_rule).missing == ()


def test_a_part_of_a_kind_needs_a_right_of_its_own(tmp_path: Path) -> None:
    bound = request("create", "pods", subresource="binding", namespace="research", name="a")
    assert [str(each) for each in use(tmp_path, cluster(), bound).used] == ["create pods/binding"]


def test_the_name_of_what_is_created_is_not_asked_for(tmp_path: Path) -> None:
    named = [{**RULES[0], "verbs": ["create"], "resourceNames": ["a"]}]
    made = request("create", "pods", namespace="research", name="a")
    assert use(tmp_path, cluster(named), made).used == ()


def test_the_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    found = use(tmp_path, cluster(), request("list", "pods"), request("delete", "pods")[:40])
    assert [str(each) for each in found.used] == ["list pods"]


@pytest.mark.parametrize(
    ("right", "asked", "allowed"),
    [
        (
            Right(group="*", resource="*", verb="*"),
            Right(group="", resource="pods", verb="get"),
            True,
        ),
        (
            Right(group="", resource="pods", verb="get", namespace="a"),
            Right(group="", resource="pods", verb="get", namespace="b"),
            False,
        ),
        (
            Right(group="", resource="pods", verb="get", namespace="a"),
            Right(group="", resource="pods", verb="get"),
            False,
        ),
        (
            Right(group="x", resource="y", verb="get", names=("a", "b")),
            Right(group="x", resource="y", verb="get", names=("b",)),
            True,
        ),
        (
            Right(group="x", resource="y", verb="get", names=("a", "b")),
            Right(group="x", resource="y", verb="get", names=("c",)),
            False,
        ),
        (
            Right(group="x", resource="y", verb="list", names=("a",)),
            Right(group="x", resource="y", verb="list"),
            False,
        ),
        (
            Right(group="apps", resource="*/scale", verb="get"),
            Right(group="apps", resource="deployments/scale", verb="get"),
            True,
        ),
        (
            Right(group="apps", resource="*/scale", verb="get"),
            Right(group="apps", resource="deployments", verb="get"),
            False,
        ),
    ],
)
def test_a_right_has_bounds(right: Right, asked: Right, allowed: bool) -> None:
    assert right.allows(asked) is allowed


def test_a_role_of_a_namespace_holds_there_alone() -> None:
    made = FakeApi(
        roles=[role(RULES[:1], namespace="monitoring"), role(RULES[1:], namespace="other")],
        rolebindings=[binding("Role", ACCOUNT, namespace="monitoring")],
    )
    found = rights.granted(cast("Api", made), USER)
    assert [str(each) for each in found] == ["delete pods in monitoring", "list pods in monitoring"]


def test_the_rights_of_others_do_not_count() -> None:
    others = [{**ACCOUNT, "name": "other"}, {"kind": "Group", "name": "system:serviceaccounts"}]
    bindings = [binding("ClusterRole", subject) for subject in others]
    made = FakeApi(clusterroles=[role(RULES)], clusterrolebindings=bindings)
    assert rights.granted(cast("Api", made), USER) == ()


def test_the_log_is_of_accounts_but_not_of_kubernetes_own(tmp_path: Path) -> None:
    arguments = rights.write_policy(tmp_path)
    policy = yaml.safe_load((tmp_path / "audit-policy.yaml").read_text())
    levels = [rule["level"] for rule in policy["rules"]]
    assert levels == ["Metadata", "None", "Metadata", "None"], "the first rule that fits decides"
    assert policy["rules"][1]["userGroups"] == ["system:serviceaccounts:kube-system"]
    assert f"--audit-log-path={tmp_path / rights.LOG}" in arguments
