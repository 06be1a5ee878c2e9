"""What the real API server lets the people of a team's groups do."""

from typing import Any

import pytest

from tests.rehearsal.queues.conftest import GROUP, Queues, pod_group, pod_groups

CORE, APPS, BATCH = "/api/v1", "/apis/apps/v1", "/apis/batch/v1"
VOLCANO = "/apis/batch.volcano.sh/v1alpha1"
POD = {"containers": [{"name": "train", "image": "registry.fleet.example/train"}]}
JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {"minAvailable": 1, "tasks": [{"name": "w", "replicas": 1, "template": {"spec": POD}}]},
}


def named(name: str, **content: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **content}


def may(queues: Queues, verb: str, resource: str, namespace: str, group: str = GROUP) -> bool:
    """Ask the server's authorizer; the resource is `group/resource/subresource` or less."""
    api_group, _, rest = resource.rpartition(":")
    kind, _, sub = rest.partition("/")
    attributes = {"verb": verb, "group": api_group, "resource": kind, "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "ada",
            "groups": [group, "system:authenticated"],
            "resourceAttributes": {**attributes, "subresource": sub},
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(queues.api.request("POST", path, review)["status"]["allowed"])


def test_people_run_jobs_and_look_at_them_in_their_queues(queues: Queues) -> None:
    secret = named("wandb", stringData={"key": "k"})
    for namespace in ("research", "burst", "anywhere"):
        for path, body in (
            (f"{VOLCANO}/namespaces/{namespace}/jobs", JOB),
            (pod_groups(namespace), pod_group(named("g", spec={"minMember": 1}))),
            (f"{CORE}/namespaces/{namespace}/secrets", secret),
            (f"{BATCH}/namespaces/{namespace}/jobs", named("prep", spec={"template": pod()})),
        ):
            assert queues.refusal("POST", path, body, group=GROUP) == "", path
    for verb, resource in (
        ("get", "pods/log"),
        ("create", "pods/exec"),
        ("create", "pods/portforward"),
        ("list", "events"),
        ("patch", "apps:deployments/scale"),
        ("delete", "batch.volcano.sh:jobs"),
    ):
        assert may(queues, verb, resource, "research"), (verb, resource)


def pod() -> dict[str, Any]:
    return {"spec": {**POD, "restartPolicy": "Never"}}


def test_the_rules_of_queues_hold_for_people_as_well(queues: Queues) -> None:
    elsewhere = pod_group(named("g", spec={"minMember": 1, "queue": "risk"}))
    said = queues.refusal("POST", pod_groups("research"), elsewhere, group=GROUP)
    assert "must be in queue 'research', that of its namespace; it names 'risk'." in said
    host = {"apiVersion": "v1", "kind": "Pod", **named("p", spec={**POD, "hostNetwork": True})}
    said = queues.refusal("POST", f"{CORE}/namespaces/research/pods", host, group=GROUP)
    assert 'violates PodSecurity "baseline' in said


@pytest.mark.parametrize("namespace", ["risk", "kube-system", "default", "monitoring"])
def test_people_have_nothing_in_other_namespaces(queues: Queues, namespace: str) -> None:
    for verb, resource in (
        ("create", "pods"),
        ("create", "pods/exec"),
        ("get", "pods"),
        ("get", "secrets"),
        ("list", "secrets"),
        ("create", "batch.volcano.sh:jobs"),
        ("create", "scheduling.volcano.sh:podgroups"),
    ):
        assert not may(queues, verb, resource, namespace), (verb, resource)
    jobs = f"{VOLCANO}/namespaces/{namespace}/jobs"
    assert "cannot create resource" in queues.refusal("POST", jobs, JOB, group=GROUP)


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("delete", "networking.k8s.io:networkpolicies"),
        ("patch", "resourcequotas"),
        ("create", "policy:poddisruptionbudgets"),
        ("create", "apps:daemonsets"),
        ("create", "bus.volcano.sh:commands"),
        ("create", "serviceaccounts/token"),
        ("impersonate", "serviceaccounts"),
        ("create", "rbac.authorization.k8s.io:rolebindings"),
        ("patch", "rbac.authorization.k8s.io:roles"),
        ("escalate", "rbac.authorization.k8s.io:roles"),
    ],
)
def test_people_do_not_move_their_bounds(queues: Queues, verb: str, resource: str) -> None:
    assert not may(queues, verb, resource, "research")


@pytest.mark.parametrize(
    "resource",
    [
        "nodes",
        "namespaces",
        "persistentvolumes",
        "secrets",
        "pods",
        "scheduling.volcano.sh:queues",
        "scheduling.k8s.io:priorityclasses",
    ],
)
def test_people_have_nothing_in_the_whole_cluster(queues: Queues, resource: str) -> None:
    assert not any(may(queues, verb, resource, "") for verb in ("list", "create", "delete"))


def test_others_have_nothing_in_the_queues(queues: Queues) -> None:
    for group in ("oidc:risk", "system:authenticated"):
        assert not may(queues, "get", "pods", "research", group)
        assert not may(queues, "create", "batch.volcano.sh:jobs", "research", group)
