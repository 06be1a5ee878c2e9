"""What pods must say of themselves in a queue's namespace, and where pods with GPUs may be."""

from typing import Any

import pytest

from policies.language.facts import KEY, Facts, Queue
from policies.language.rule import Rule
from policies.rules.idle import outside_queues, own_queue, queue_priority, queue_scheduler
from tests.support.policies.gpu_pods import gpu_container
from tests.support.policies.machines import Resource

RESEARCH = Queue(name="research", gpus=16, priorities=["research", "interactive"])
FACTS: Facts = {"pools": [], "queues": [RESEARCH, Queue(name="burst", gpus=8)]}


def said(rule: Rule, manifest: Resource, **settings: object) -> list[str]:
    assert rule.predicate is not None
    return rule.predicate(manifest, {**rule.defaults(), **settings, KEY: FACTS})


def pod(namespace: str | None = "research", **spec: Any) -> Resource:
    metadata = {"name": "p", **({} if namespace is None else {"namespace": namespace})}
    containers = [gpu_container()]
    spec = {"containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def deployment(**spec: Any) -> Resource:
    found = pod(**spec)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": found["metadata"],
        "spec": {"template": {"spec": found["spec"]}},
    }


@pytest.mark.parametrize("name", ["production", "system-node-critical"])
@pytest.mark.parametrize("of", [pod, deployment])
def test_a_pod_takes_no_class_that_its_queue_has_not(of: Any, name: str) -> None:
    found = said(queue_priority.RULE, of(priorityClassName=name))
    (sentence,) = found
    assert sentence.endswith(
        "must have a priority class of queue 'research' (research, interactive) or none; it has "
        f"'{name}'."
    )


@pytest.mark.parametrize("name", ["research", "", None])
def test_a_pod_may_have_a_class_of_its_queue_or_none(name: str | None) -> None:
    assert said(queue_priority.RULE, pod(priorityClassName=name)) == []


@pytest.mark.parametrize("namespace", ["burst", "kube-system", None])
def test_where_no_classes_are_known_every_one_passes(namespace: str | None) -> None:
    assert said(queue_priority.RULE, pod(namespace, priorityClassName="production")) == []


def test_a_class_for_all_pods_of_a_job_is_told_once() -> None:
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "research"},
        "spec": {
            "priorityClassName": "production",
            "tasks": [{"template": {"spec": pod(priorityClassName="production")["spec"]}}],
        },
    }
    assert len(said(queue_priority.RULE, job)) == 1


@pytest.mark.parametrize("of", [pod, deployment])
def test_a_pod_with_gpus_in_a_queue_is_volcanos(of: Any) -> None:
    for own in ({"schedulerName": "volcano"}, {}, {"schedulerName": "default-scheduler"}):
        assert said(queue_scheduler.RULE, of(**own)) == [], "Volcano's webhook gives it the name"
    (sentence,) = said(queue_scheduler.RULE, of(schedulerName="mine"))
    assert "must have schedulerName: volcano or none in the namespace of queue" in sentence
    without = of(containers=[{"name": "c"}], schedulerName="mine")
    assert said(queue_scheduler.RULE, without) == []
    assert said(queue_scheduler.RULE, of(namespace="elsewhere", schedulerName="mine")) == []


def test_a_pod_with_gpus_outside_every_queue_is_told_of_the_queues() -> None:
    (sentence,) = said(outside_queues.RULE, pod("default"))
    assert sentence == (
        "Pod 'p' must be in the namespace of a queue (research, burst), as it asks for GPUs; "
        "'default' belongs to none."
    )
    assert said(outside_queues.RULE, pod("default"), namespaces=["default"]) == []
    for free in ("research", "burst", "kube-system", "fleet-acceptance", None):
        assert said(outside_queues.RULE, pod(free)) == [], free


@pytest.mark.parametrize(
    ("named", "namespace", "keeps"),
    [
        ("research", "research", True),
        ("default", "research", True),
        (None, "research", True),
        ("burst", "research", False),
        ("burst", "elsewhere", True),
        ("burst", None, True),
    ],
)
def test_a_job_in_a_queues_namespace_is_in_that_queue(
    named: str | None, namespace: str | None, *, keeps: bool
) -> None:
    found = pod(namespace)
    spec = {"minMember": 1, "queue": named}
    group = {**found, "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    says = "PodGroup 'p' must be in queue 'research', that of its namespace; it names 'burst'."
    assert said(own_queue.RULE, {**group, "spec": spec}) == ([] if keeps else [says])
