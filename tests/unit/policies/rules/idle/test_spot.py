"""What may run on spot capacity."""

from typing import Any

import pytest

from policies.rules.idle.spot import RULE
from tests.support.policies.asked import Resource, annotated, said
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod
from tests.support.rule_facts import of, pool

BURST, CHEAP, OTHER = (of(pool(name, spot=True)) for name in ("burst", "cheap", "other"))
TYPE = "karpenter.sh/capacity-type"
SPOT = {"nodeSelector": {TYPE: "spot"}}
SERVICES = ("Deployment", "StatefulSet", "DaemonSet")
NO_CHECKPOINT = (
    "Pod 'p' must have the annotation fleet.gpu/checkpoint-seconds of at most 120 on its pods to "
    "run on spot capacity."
)
PRODUCTION = "must not run on spot capacity, as it is of a priority class of production."


def affine(operator: str, *values: str, key: str = TYPE) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def gpu_pod(**spec: Any) -> Resource:
    return pod(gpu_container(), **spec)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SERVICES])
def test_batch_work_on_spot_without_a_checkpoint_is_refused(kind: str) -> None:
    (sentence,) = said(RULE, KINDS[kind]({"containers": [gpu_container()], **SPOT}))

    assert sentence.endswith(NO_CHECKPOINT.removeprefix("Pod 'p' "))


@pytest.mark.parametrize("kind", SERVICES)
def test_a_service_has_no_work_to_lose(kind: str) -> None:
    assert said(RULE, KINDS[kind]({"containers": [gpu_container()], **SPOT})) == []


@pytest.mark.parametrize(("kind", "kept"), [("ReplicaSet", True), ("Job", False)])
def test_a_pod_is_a_service_as_its_owner_is_one(kind: str, kept: bool) -> None:
    found = gpu_pod(**SPOT)
    found["metadata"]["ownerReferences"] = [{"kind": kind, "name": "p-1"}]

    assert said(RULE, found) == ([] if kept else [NO_CHECKPOINT])


@pytest.mark.parametrize(("seconds", "kept"), [("120", True), ("121", False), ("soon", False)])
def test_a_checkpoint_must_be_written_within_the_notice(seconds: str, kept: bool) -> None:
    found = annotated(gpu_pod(**SPOT), checkpoint_seconds=seconds)

    assert said(RULE, found) == ([] if kept else [NO_CHECKPOINT])
    assert (said(RULE, found, notice_seconds=119) == []) is False


def test_production_never_runs_on_spot_with_or_without_a_checkpoint() -> None:
    found = gpu_pod(priorityClassName="production", **SPOT)

    assert said(RULE, annotated(found, checkpoint_seconds="60")) == [f"Pod 'p' {PRODUCTION}"]
    assert said(RULE, annotated(found, checkpoint_seconds="60"), production_classes=["p1"]) == []
    service = KINDS["Deployment"](
        {"containers": [gpu_container()], "priorityClassName": "production", **SPOT}
    )
    assert said(RULE, service) == [f"Deployment 'p' {PRODUCTION}"]


def test_the_class_of_a_gang_is_that_of_its_pods() -> None:
    gang = KINDS["Volcano Job"]({"containers": [gpu_container()], **SPOT})
    gang["spec"]["priorityClassName"] = "production"

    assert f"Job 'p', 'worker' {PRODUCTION}" in said(RULE, gang)


@pytest.mark.parametrize("where", [affine("In", "spot"), affine("In", "spot", "reserved")])
def test_affinity_that_allows_spot_counts(where: dict[str, Any]) -> None:
    assert said(RULE, gpu_pod(**where)) == [NO_CHECKPOINT]


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"nodeSelector": {TYPE: "reserved"}},
        affine("In", "reserved"),
        affine("NotIn", "spot"),
        {**affine("In", "spot"), "nodeSelector": {TYPE: "on-demand"}},
    ],
)
def test_a_pod_that_never_runs_on_spot_is_left_alone(where: dict[str, Any]) -> None:
    assert said(RULE, gpu_pod(priorityClassName="production", **where)) == []


def test_a_pool_that_is_known_to_have_spot_machines_counts() -> None:
    here = {"fleet.gpu/pool": "burst"}

    assert said(RULE, gpu_pod(nodeSelector=here), facts=BURST) == [NO_CHECKPOINT]
    assert said(RULE, gpu_pod(nodeSelector=here), facts=OTHER) == []
    reserved = {**here, TYPE: "reserved"}
    assert said(RULE, gpu_pod(nodeSelector=reserved), facts=BURST) == []


def test_work_without_gpus_is_not_judged() -> None:
    assert said(RULE, pod(container(), **SPOT)) == []


def test_a_pool_may_be_selected_by_affinity_too() -> None:
    chosen = affine("In", "dgx", "cheap", key="fleet.gpu/pool")

    assert said(RULE, gpu_pod(**chosen), facts=CHEAP) == [NO_CHECKPOINT]
    assert said(RULE, gpu_pod(**chosen), facts=OTHER) == []
    owned = {**chosen, "nodeSelector": {"fleet.gpu/pool": "dgx"}}
    assert said(RULE, gpu_pod(**owned), facts=CHEAP) == []


def test_nodes_without_a_capacity_type_are_not_on_spot() -> None:
    assert said(RULE, gpu_pod(**affine("DoesNotExist"))) == []
    assert said(RULE, gpu_pod(**affine("Exists"))) == [NO_CHECKPOINT]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Volcano Job", ("priorityClassName",)),
        ("Workflow", ("podPriorityClassName",)),
        ("CronWorkflow", ("workflowSpec", "podPriorityClassName")),
        ("PyTorchJob", ("runPolicy", "schedulingPolicy", "priorityClass")),
    ],
)
def test_a_job_gives_its_class_to_all_its_pods(kind: str, path: tuple[str, ...]) -> None:
    found = KINDS[kind]({"containers": [gpu_container()], **SPOT})
    place = found["spec"]
    for step in path[:-1]:
        place = place.setdefault(step, {})
    place[path[-1]] = "production"

    assert [sentence.endswith(PRODUCTION) for sentence in said(RULE, found)] == [True, False]
