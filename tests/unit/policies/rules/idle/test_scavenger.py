"""Whether others can take the GPUs of scavenger work."""

from typing import Any

import pytest

from policies.rules.idle.scavenger import RULE
from tests.support.policies.asked import Resource, said
from tests.support.policies.environments import stack
from tests.support.policies.gpu_pods import KINDS, gpu_container, pod

STAYS = (
    "must be preemptible in the class 'scavenger': without volcano.sh/preemptable false and "
    "without karpenter.sh/do-not-disrupt."
)


def priority(value: int, policy: str | None = "Never", name: str = "scavenger") -> Resource:
    found: Resource = {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    return found if policy is None else {**found, "preemptionPolicy": policy}


def queue(name: str = "scavenger", **spec: Any) -> Resource:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def scavenging(
    annotations: dict[str, str], labels: dict[str, str] | None = None, kind: str = "scavenger"
) -> Resource:
    found = pod(gpu_container(), labels=labels, priorityClassName=kind)
    found["metadata"]["annotations"] = annotations
    return found


def test_a_class_below_all_others_that_evicts_nobody_passes() -> None:
    assert said(RULE, priority(-1)) == []


@pytest.mark.parametrize("value", [0, 1000])
def test_a_class_that_is_not_below_the_default_is_refused(value: int) -> None:
    assert said(RULE, priority(value)) == [
        "PriorityClass 'scavenger' must have a value below 0, the priority of pods without a class."
    ]


@pytest.mark.parametrize("policy", ["PreemptLowerPriority", None])
def test_a_class_that_evicts_is_refused(policy: str | None) -> None:
    assert said(RULE, priority(-1, policy)) == [
        "PriorityClass 'scavenger' must have preemptionPolicy Never."
    ]


def test_the_queue_must_be_reclaimable() -> None:
    assert said(RULE, queue(reclaimable=True)) == []
    assert said(RULE, queue()) == []
    assert said(RULE, queue(reclaimable=False)) == [
        (
            "Queue 'scavenger' must not have spec.reclaimable false, as the queue of the class "
            "'scavenger'."
        )
    ]


def test_other_classes_and_queues_may_do_as_they_like() -> None:
    assert said(RULE, priority(5, "PreemptLowerPriority", "research")) == []
    assert said(RULE, queue("burst", reclaimable=False)) == []
    assert said(RULE, scavenging({"volcano.sh/preemptable": "false"}, kind="research")) == []


@pytest.mark.parametrize("value", ["false", "0", "no", "", "FALSE"])
def test_a_pod_that_volcano_may_not_end_is_refused(value: str) -> None:
    assert said(RULE, scavenging({"volcano.sh/preemptable": value})) == [f"Pod 'p' {STAYS}"]
    assert said(RULE, scavenging({}, {"volcano.sh/preemptable": value})) == [f"Pod 'p' {STAYS}"]


def test_the_annotation_goes_before_the_label_as_it_does_in_volcano() -> None:
    key = "volcano.sh/preemptable"

    assert said(RULE, scavenging({key: "true"}, {key: "false"})) == []
    assert said(RULE, scavenging({key: "false"}, {key: "true"})) == [f"Pod 'p' {STAYS}"]


def test_a_pod_that_keeps_its_node_is_refused() -> None:
    assert said(RULE, scavenging({"karpenter.sh/do-not-disrupt": "true"})) == [f"Pod 'p' {STAYS}"]


@pytest.mark.parametrize("value", ["true", "True", "1"])
def test_a_pod_that_volcano_may_end_passes(value: str) -> None:
    assert said(RULE, scavenging({"volcano.sh/preemptable": value})) == []
    assert said(RULE, scavenging({})) == []


def test_the_class_of_a_gang_is_that_of_its_pods() -> None:
    gang = KINDS["Volcano Job"]({"containers": [gpu_container()]})
    gang["spec"]["priorityClassName"] = "scavenger"
    template = gang["spec"]["tasks"][0]["template"]
    template["metadata"] = {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}

    assert said(RULE, gang) == [f"Job 'p', 'worker' {STAYS}"]
    assert said(RULE, gang, priority_class="leftover") == []


def test_the_class_of_prod_is_judged_and_passes() -> None:
    (found,) = (
        dict(each)
        for each in stack("prod")
        if each["kind"] == "PriorityClass" and each["metadata"]["name"] == "scavenger"  # type: ignore[index]  # an object
    )

    assert said(RULE, found) == []
    assert said(RULE, {**found, "value": 1}) != []


def test_a_job_in_the_queue_is_such_work_whatever_its_class() -> None:
    gang = KINDS["Volcano Job"]({"containers": [gpu_container()]})
    gang["spec"]["tasks"][0]["template"]["metadata"] = {
        "annotations": {"volcano.sh/preemptable": "false"}
    }

    assert said(RULE, gang) == []
    gang["spec"]["queue"] = "scavenger"
    assert said(RULE, gang) == [f"Job 'p', 'worker' {STAYS}"]


def test_volcano_copies_the_annotation_of_its_job_to_the_pods() -> None:
    gang = KINDS["Volcano Job"]({"containers": [gpu_container()], "priorityClassName": "scavenger"})
    gang["metadata"]["annotations"] = {"volcano.sh/preemptable": "false"}

    assert said(RULE, gang) == [f"Job 'p', 'worker' {STAYS}"]
    service = KINDS["Deployment"]({"containers": [], "priorityClassName": "scavenger"})
    service["metadata"]["annotations"] = {"volcano.sh/preemptable": "false"}
    assert said(RULE, service) == []
