"""Gangs of Kubeflow's training jobs, as the training operator makes their PodGroups."""

from typing import Any

import pytest

from policies.language.pods import KUBEFLOW
from policies.rules.idle.gang_fits import RULE
from tests.support.policies.gpu_pods import gpu_container
from tests.support.policies.machines import Resource, host, node_pool
from tests.support.rule_facts import queues
from tests.unit.policies.rules.idle.test_gang_fits import pod_group, queue, volcano

OF_RESEARCH = "at most the 16 GPUs of queue 'research'"


def training(*roles: tuple[object, int], kind: str = "PyTorchJob", **policy: object) -> Resource:
    """A training job in the namespace `research`: replicas and GPUs of each role."""
    made = {
        f"Role{number}": {
            **({} if replicas is None else {"replicas": replicas}),
            "template": {"spec": {"containers": [gpu_container(gpus=gpus)]}},
        }
        for number, (replicas, gpus) in enumerate(roles)
    }
    spec: Resource = {KUBEFLOW[kind]: made, "runPolicy": {"schedulingPolicy": policy}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "train", "namespace": "research"},
        "spec": spec,
    }


def with_pod(job: Resource, **spec: Any) -> Resource:
    """The same with more in the pod of its first role."""
    (field,) = (name for name in job["spec"] if name != "runPolicy")
    job["spec"][field]["Role0"]["template"]["spec"].update(spec)
    return job


def said(job: Resource, gpus: str = "16", *stack: Resource) -> list[str]:
    """What both gates say of a job in a queue of so many GPUs; they agree."""
    assert RULE.across is not None
    assert RULE.predicate is not None
    alone = RULE.predicate(job, queues(other=1, research=int(gpus)))
    across = RULE.across(job, {}, [job, queue(gpus), *stack])
    assert alone in ([], across)
    return across


@pytest.mark.parametrize("kind", KUBEFLOW)
def test_a_training_job_larger_than_its_queue_is_refused(kind: str) -> None:
    job = training((1, 8), (2, 8), kind=kind)

    must = f"must be a gang of {OF_RESEARCH}"
    assert said(job) == [f"{kind} 'train' {must}; it asks for 24 at once."]
    assert said(job, "24") == []


def test_a_training_job_of_another_group_is_none_of_kubeflows() -> None:
    assert said({**training((3, 8)), "apiVersion": "training.example/v1"}) == []


@pytest.mark.parametrize(
    "job",
    [
        training((3, 8)),
        training((None, 8), (None, 8), (None, 8)),
        training(("3", 8)),
        training((2, 8), (8, 1), minAvailable=10),
        training((3, 8), queue="research"),
        training((3, 8), queue="default"),
        training((3, 8), queue=""),
        training((1, 8), minResources={"nvidia.com/gpu": "24"}),
        training((3, 8), minResources={"nvidia.com/gpu": "8"}),
        with_pod(training((3, 8)), schedulerName="default-scheduler"),
        with_pod(training((3, 8)), initContainers=[gpu_container("check", gpus=8)]),
    ],
)
def test_a_training_job_must_fit_with_all_the_pods_that_it_starts_at_once(job: Resource) -> None:
    assert "it asks for 24 at once." in said(job)[0]


@pytest.mark.parametrize(
    "job",
    [
        training((2, 8)),
        training((0, 8), (None, 8)),
        training((9, 8), minAvailable=2),
        training((9, 8), minAvailable=0),
        training((2, 8), (8, 1), minAvailable=9),
        training((3, 8), queue="elsewhere"),
        training((2, 8), minResources={"cpu": "64"}),
        with_pod(training((2, 8)), initContainers=[gpu_container("check", gpus=8)]),
    ],
)
def test_a_training_job_that_can_start_passes(job: Resource) -> None:
    assert said(job) == []


def test_a_sidecar_has_its_gpus_beside_the_others() -> None:
    sidecar = {**gpu_container("side", gpus=4), "restartPolicy": "Always"}

    assert said(with_pod(training((2, 4)), initContainers=[sidecar])) == []
    assert said(with_pod(training((2, 8)), initContainers=[sidecar])) != []


def test_a_training_job_without_a_policy_waits_in_the_queue_of_its_namespace() -> None:
    job = training((3, 8))
    del job["spec"]["runPolicy"]

    assert OF_RESEARCH in said(job)[0]


def test_a_training_job_must_fit_the_machines_of_its_queues_pool() -> None:
    pools = (volcano(research="dgx"), host(), host(name="dgx-02"), node_pool(64))

    assert RULE.across is not None
    stack = [queue("32"), *pools]
    (told,) = RULE.across(training((3, 8)), {}, stack)
    assert "at most the 16 GPUs of pool 'dgx'; it asks for 24 at once." in told
    assert RULE.across(training((2, 8)), {}, stack) == []


def test_a_training_job_is_refused_as_the_pod_group_that_the_operator_makes_of_it() -> None:
    job, group = training((40, 8)), pod_group("320", minMember=40)

    assert said(job, "96")[0].partition(" must ")[2] == said(group, "96")[0].partition(" must ")[2]


def test_a_quantity_of_a_training_job_that_nobody_can_read_is_not_counted() -> None:
    job = training((3, 8))
    with_pod(job, containers=[gpu_container(gpus="abc")])

    assert said(job) == []
    assert said(training((1, 8), minResources={"nvidia.com/gpu": "abc"})) == []
