"""What the API server makes of jobs in the namespaces of queues, by the policy of the program."""

from typing import Any

import pytest

from settings.operators import OPERATORS
from tests.rehearsal.queues.conftest import RBAC, Queues, pod_group, pod_groups

AGAIN = [{"event": "PodEvicted", "action": "RestartJob"}]
RBAC_GROUP = "rbac.authorization.k8s.io"
HARD = {"mode": "hard", "highestTierAllowed": 1}


def job(
    queue: str | None,
    members: int,
    topology: dict[str, Any] | None,
    policies: list[dict[str, Any]] | None,
) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "train", "image": "registry.fleet.example/train"}]}}
    task = {"name": "worker", "replicas": members, "template": pod}
    spec: dict[str, Any] = {"minAvailable": members, "tasks": [task]}
    spec |= {} if queue is None else {"queue": queue}
    spec |= {} if topology is None else {"networkTopology": topology}
    spec |= {} if policies is None else {"policies": policies}
    of_volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    return {**of_volcano, "metadata": {"name": "job"}, "spec": spec}


def test_a_job_is_taken_where_it_can_start_and_refused_with_a_way_out(queues: Queues) -> None:
    def refusal(
        namespace: str,
        members: int = 1,
        queue: str | None = None,
        topology: dict[str, Any] | None = None,
        policies: list[dict[str, Any]] | None = AGAIN,
    ) -> str:
        path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs"
        return queues.refusal("POST", path, job(queue, members, topology, policies))

    taken = [
        refusal("research", 8),
        refusal("research", 8, queue="research"),
        refusal("research", 8, queue="default"),
        refusal("burst", 1),
        refusal("burst", 8, topology=HARD),
        refusal("burst", 8, topology=HARD, policies=[{"events": ["*"], "action": "RestartJob"}]),
        refusal("research", 8, policies=None),
        refusal("anywhere", 1),
        refusal("default", 8, queue="research"),  # no queue's namespace
    ]
    assert taken == [""] * len(taken)
    assert (
        "Job 'job' must be in queue 'research', that of its namespace; it names 'burst'."
        in refusal("research", queue="burst")
    )
    whole = "a gang on rented machines must have networkTopology: {mode: hard, "
    for topology in (None, {"mode": "soft"}, {**HARD, "highestTierAllowed": 2}):
        assert whole in refusal("burst", 2, topology=topology)
    assert "must be in a queue that has a pool" in refusal("anywhere", 2, topology=HARD)
    for policies in (None, [{"event": "PodFailed", "action": "RestartJob"}]):
        assert "must have policies: [{event: PodEvicted, action: RestartJob}]" in refusal(
            "burst", 2, topology=HARD, policies=policies
        )


@pytest.fixture
def running(queues: Queues) -> Any:
    """A group of one pod in the queue of its namespace, which is rented."""
    spec = {"minMember": 1, "queue": "burst"}
    group = pod_group({"metadata": {"name": "running"}, "spec": spec})
    path = f"{pod_groups('burst')}/running"
    assert queues.api.create(pod_groups("burst"), group)
    yield path
    queues.api.delete(path, dependents="Background")


def changed(queues: Queues, path: str, **spec: object) -> str:
    found = queues.api.get(path)
    assert found
    return queues.refusal("PUT", path, {**found, "spec": {**found["spec"], **spec}})


@pytest.mark.parametrize("queue", ["risk", "default"])
def test_a_job_never_leaves_the_bound_of_its_queue(
    queues: Queues, running: str, queue: str
) -> None:
    says = f"must be in queue 'burst', that of its namespace; it names '{queue}'."
    assert says in changed(queues, running, queue=queue)


def test_one_pod_does_not_become_a_gang_that_waits_for_ever(queues: Queues, running: str) -> None:
    whole = "a gang on rented machines must have networkTopology: {mode: hard, "
    assert whole in changed(queues, running, minMember=2)
    assert changed(queues, running, minMember=2, networkTopology=HARD) == ""


def test_who_writes_the_state_of_a_job_from_before_the_rules_is_let_through(
    queues: Queues,
) -> None:
    path = f"{pod_groups('research')}/old"
    spec = {"minMember": 2, "queue": "default"}
    queues.api.create(
        pod_groups("research"), pod_group({"metadata": {"name": "old"}, "spec": spec})
    )
    assert changed(queues, path, minMember=3) == ""
    queues.api.delete(path)


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operators_group_bursts_without_a_topology_and_nobody_elses_does(
    queues: Queues, operator: str
) -> None:
    def refusal(user: str, **spec: object) -> str:
        asks = {"minResources": {"nvidia.com/gpu": "16"}, "queue": "burst", **spec}
        group = pod_group({"metadata": {"name": "ray"}, "spec": {"minMember": 2, **asks}})
        path = pod_groups("burst")
        return queues.refusal("POST", path, group, group="system:masters", user=user)

    assert refusal(operator) == ""
    whole = "a gang on rented machines must have networkTopology: {mode: hard, "
    assert whole in refusal("ada")
    assert whole in refusal("system:serviceaccount:burst:mpi-operator"), "an account of a team"
    assert whole in refusal(operator, minResources=None), "nobody knows what it asks for"
    assert "must be in queue 'burst', that of its namespace; it names 'risk'." in refusal(
        operator, queue="risk"
    )


def test_an_operator_makes_no_job_of_volcano_that_waits_for_ever(queues: Queues) -> None:
    path = "/apis/batch.volcano.sh/v1alpha1/namespaces/burst/jobs"
    made = job("burst", 2, None, AGAIN)
    said = queues.refusal("POST", path, made, group="system:masters", user=OPERATORS[0])
    assert "a gang on rented machines must have networkTopology" in said


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "nvidia.com/mig-1g.18gb"])
def test_a_pod_with_gpus_is_volcanos_or_refused(queues: Queues, resource: str) -> None:
    def refusal(namespace: str, **spec: object) -> str:
        asks = {"limits": {resource: 1}} if spec.pop("gpus", True) else {}
        container = {"name": "c", "image": "registry.fleet.example/c", "resources": asks}
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}
        path = f"/api/v1/namespaces/{namespace}/pods"
        return queues.refusal("POST", path, {"apiVersion": "v1", "kind": "Pod", **pod})

    must = "a pod with GPUs in the namespace of a queue must be scheduled by Volcano"
    assert must in refusal("research")
    assert must in refusal("research", schedulerName="mine")
    assert refusal("research", gpus=False) == ""
    assert refusal("default") == ""
    assert refusal("research", schedulerName="volcano") == ""


@pytest.fixture
def binder(queues: Queues) -> Any:
    """The path of a pod that waits, and a group that RBAC lets do all."""
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"apiGroup": RBAC_GROUP, "kind": "Group", "name": "oidc:binders"}
    binding = {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "binders"},
        "roleRef": role,
        "subjects": [subject],
    }
    queues.api.create(f"{RBAC}/clusterrolebindings", binding)
    container = {"name": "c", "image": "registry.fleet.example/c"}
    spec = {"schedulerName": "none", "containers": [container]}
    pod = {"metadata": {"name": "waits"}, "spec": spec}
    pods = "/api/v1/namespaces/research/pods"
    queues.api.create(pods, {"apiVersion": "v1", "kind": "Pod", **pod})
    yield f"{pods}/waits", "oidc:binders"
    queues.api.delete(f"{pods}/waits")
    queues.api.delete(f"{RBAC}/clusterrolebindings/binders")


def test_nobody_but_a_scheduler_binds_a_pod_to_a_node(
    queues: Queues, binder: tuple[str, str]
) -> None:
    pod, group = binder
    target = {"apiVersion": "v1", "kind": "Node", "name": "dgx-01"}
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "waits"},
        "target": target,
    }

    def refusal(path: str, user: str) -> str:
        return queues.refusal("POST", path, body, group=group, user=user)

    must = "must be bound to its node by a scheduler"
    collection = pod.replace("/pods/waits", "/bindings")
    for path in (f"{pod}/binding", collection):
        assert must in refusal(path, "ada")
        assert must in refusal(path, "system:serviceaccount:research:volcano-scheduler")
    for user in (
        "system:kube-scheduler",
        "system:serviceaccount:volcano-system:volcano-scheduler",
    ):
        assert refusal(f"{pod}/binding", user) == ""
