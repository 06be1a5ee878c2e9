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


@pytest.mark.parametrize("namespace", ["burst", "kube-system", "web", None])
def test_a_class_that_no_queue_has_passes_where_none_is_known(namespace: str | None) -> None:
    assert said(queue_priority.RULE, pod(namespace, priorityClassName="production")) == []


@pytest.mark.parametrize(
    ("namespace", "name", "refused"),
    [
        ("web", "system-node-critical", "for the system's own namespaces"),
        ("burst", "system-cluster-critical", "for the system's own namespaces"),
        ("web", "research", "for jobs in queues"),
        ("burst", "research", ""),
        ("kube-system", "system-node-critical", ""),
        ("kube-system", "research", ""),
        (None, "system-node-critical", ""),
    ],
)
def test_outside_the_queues_nobody_goes_first_but_the_system(
    namespace: str | None, name: str, refused: str
) -> None:
    found = said(queue_priority.RULE, pod(namespace, priorityClassName=name))

    assert [f"must not have '{name}', a priority class {refused}." in each for each in found] == (
        [True] if refused else []
    )


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


def kept(found: dict[str, Any], value: str = "false", marks: str = "annotations") -> dict[str, Any]:
    """An object with the mark that keeps Volcano from preempting."""
    metadata = found.setdefault("metadata", {})
    metadata.setdefault(marks, {})["volcano.sh/preemptable"] = value
    return found


STAYS = "must be preemptible in queue 'research': without volcano.sh/preemptable false."


@pytest.mark.parametrize("marks", ["annotations", "labels"])
def test_a_pod_in_a_reclaimable_queue_is_preemptible(marks: str) -> None:
    (sentence,) = said(queue_priority.RULE, kept(pod(), marks=marks))
    assert sentence.endswith(STAYS)

    assert said(queue_priority.RULE, kept(pod(), "true", marks)) == []
    assert said(queue_priority.RULE, kept(pod("kube-system"), marks=marks)) == []


def test_the_annotation_goes_before_the_label() -> None:
    assert said(queue_priority.RULE, kept(kept(pod(), "true"), "false", "labels")) == []
    assert said(queue_priority.RULE, kept(kept(pod(), "no"), "true", "labels")) != []


@pytest.mark.parametrize("marks", ["annotations", "labels"])
def test_a_job_of_volcano_marks_its_pods_before_they_do(marks: str) -> None:
    own = kept(pod(), "true", marks)
    job: dict[str, Any] = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "research"},
        "spec": {"tasks": [{"template": own}]},
    }
    night = {
        **job,
        "kind": "CronJob",
        "spec": {"jobTemplate": kept({"spec": job["spec"]}, marks=marks)},
    }

    assert said(queue_priority.RULE, job) == []
    assert said(queue_priority.RULE, kept(job, marks=marks)) != []
    assert said(queue_priority.RULE, night) != []


def test_a_group_in_a_reclaimable_queue_is_preemptible() -> None:
    group: dict[str, Any] = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "research"},
        "spec": {"minMember": 1},
    }
    assert said(queue_priority.RULE, group) == []
    assert said(queue_priority.RULE, kept(group)) == [f"PodGroup 'g' {STAYS}"]


def test_pods_without_gpus_and_queues_that_nobody_reclaims_from_are_left_alone() -> None:
    idle = kept(pod())
    idle["spec"]["containers"][0].pop("resources", None)
    assert said(queue_priority.RULE, idle) == []

    assert said(queue_priority.RULE, kept(pod("rented"))) == []
