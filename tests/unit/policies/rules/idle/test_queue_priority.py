"""Which priority classes pods take in the namespace of a queue."""

from typing import Any

import pytest

from policies.rules.idle import queue_priority
from tests.support.policies.queue_pods import deployment, pod, said


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
