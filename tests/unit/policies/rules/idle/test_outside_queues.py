"""Where pods with GPUs may be."""

from typing import Any

from policies.rules.idle import outside_queues
from tests.support.policies.queue_pods import pod, said


def test_a_pod_with_gpus_outside_every_queue_is_told_of_the_queues() -> None:
    (sentence,) = said(outside_queues.RULE, pod("default"))
    assert sentence == (
        "Pod 'p' must be in the namespace of a queue (research, burst), as it asks for GPUs; "
        "'default' belongs to none."
    )
    assert said(outside_queues.RULE, pod("default"), namespaces=["default"]) == []
    for free in ("research", "burst", "kube-system", "fleet-acceptance", None):
        assert said(outside_queues.RULE, pod(free)) == [], free


def train_job(namespace: str, **limits: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "fit", "namespace": namespace},
        "spec": {"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": limits}}},
    }


def test_a_train_job_has_the_gpus_of_its_nodes() -> None:
    (sentence,) = said(outside_queues.RULE, train_job("default", **{"nvidia.com/gpu": 8}))

    assert sentence.startswith("TrainJob 'fit' must be in the namespace of a queue (research, ")
    assert said(outside_queues.RULE, train_job("research", **{"nvidia.com/gpu": 8})) == []
    for none in ({}, {"cpu": 8}, {"nvidia.com/gpu": 0}, {"nvidia.com/gpu": None}):
        assert said(outside_queues.RULE, train_job("default", **none)) == []
