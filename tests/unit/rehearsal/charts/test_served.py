"""What charts see of a cluster."""

import httpx

from rehearsal.api import Api
from rehearsal.charts.served import Served

CORE = {"versions": [{"version": "v1", "resources": [
    {"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced"},
]}]}  # fmt: skip
APPS = {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
    {"resource": "deployments", "responseKind": {"kind": "Deployment"}, "scope": "Namespaced"},
]}]}  # fmt: skip
RBAC = {"metadata": {"name": "rbac.authorization.k8s.io"}, "versions": [{"version": "v1",
    "resources": [
    {"resource": "clusterroles", "responseKind": {"kind": "ClusterRole"}, "scope": "Cluster"},
]}]}  # fmt: skip
ANSWERS = {
    "/api": {"items": [CORE]},
    "/apis": {"items": [APPS, RBAC]},
    "/version": {"gitVersion": "v1.34.1"},
}


def served() -> Served:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=ANSWERS[request.url.path])

    transport = httpx.MockTransport(answer)
    return Served.by(Api(httpx.Client(base_url="https://cluster", transport=transport)))


def test_a_cluster_serves_groups_and_kinds() -> None:
    assert served().version == "v1.34.1"
    assert served().api_versions == [
        "apps/v1",
        "apps/v1/Deployment",
        "rbac.authorization.k8s.io/v1",
        "rbac.authorization.k8s.io/v1/ClusterRole",
        "v1",
        "v1/Pod",
    ]


def test_kinds_in_no_namespace_are_known_by_their_plural_those_of_a_chart_too() -> None:
    role = ("rbac.authorization.k8s.io", "clusterroles")
    assert served().without_namespace == {role}
    definition = {"spec": {"group": "a.example", "scope": "Cluster", "names": {"plural": "queues"}}}
    found = served().with_definitions([definition]).without_namespace
    assert found == {role, ("a.example", "queues")}


def test_a_kind_has_namespaces_or_not_or_is_unknown() -> None:
    assert served().namespaced("apps/v1", "Deployment") is True
    assert served().namespaced("rbac.authorization.k8s.io/v1", "ClusterRole") is False
    assert served().namespaced("apps/v1", "Thing") is None
