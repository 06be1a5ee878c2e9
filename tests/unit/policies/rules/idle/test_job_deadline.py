"""Which jobs with GPUs end some day, in every kind that can say so."""

from collections.abc import Mapping
from typing import Any

import pytest

from policies.rules.idle.job_deadline import IDLE, RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container

MUST = (
    "must have activeDeadlineSeconds of at most 168 hours or the annotation "
    "fleet.gpu/idle-deadline-minutes of at most 120 on its pods."
)
AGAIN = (
    "must have activeDeadlineSeconds of at most 168 hours in all, as each restart of its pods "
    "begins theirs anew, or the annotation fleet.gpu/idle-deadline-minutes of at most 120 on its "
    "pods."
)
SERVICES = ("Deployment", "StatefulSet", "DaemonSet")
JOBS = tuple(kind for kind in KINDS if kind not in SERVICES)
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
ON_GPUS = {"containers": [gpu_container()]}
KUBEFLOW = ("PyTorchJob", "MPIJob")
AGAIN_BY_DEFAULT = ("Job", "CronJob")
WHOLE_JOB = {
    "Job": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec"),
    "PyTorchJob": ("spec", "runPolicy"),
    "MPIJob": ("spec", "runPolicy"),
    "Workflow": ("spec",),
    "CronWorkflow": ("spec", "workflowSpec"),
}


def violations(manifest: dict[str, Any], settings: Mapping[str, object] | None = None) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, {**RULE.defaults(), **(settings or {})})


def pod(annotations: dict[str, str]) -> dict[str, Any]:
    made = KINDS["Pod"](ON_GPUS)
    made["metadata"]["annotations"] = annotations
    return made


@pytest.mark.parametrize("kind", JOBS)
def test_a_job_on_gpus_that_nothing_ends_is_refused_in_every_kind(kind: str) -> None:
    (said,) = violations(KINDS[kind](ON_GPUS))

    assert said.startswith(f"{kind.rpartition(' ')[2]} 'p'")
    assert said.endswith(f" {MUST}")


@pytest.mark.parametrize(
    "kind", [kind for kind in JOBS if kind not in (*KUBEFLOW, *AGAIN_BY_DEFAULT)]
)
def test_a_deadline_of_the_pod_is_a_limit_where_nobody_makes_it_again(kind: str) -> None:
    assert violations(KINDS[kind]({**ON_GPUS, "activeDeadlineSeconds": 604_800})) == []
    assert violations(KINDS[kind]({**ON_GPUS, "activeDeadlineSeconds": 604_801})) != []


@pytest.mark.parametrize(("kind", "path"), WHOLE_JOB.items())
def test_a_deadline_of_the_whole_job_is_a_limit_where_its_kind_has_one(
    kind: str, path: tuple[str, ...]
) -> None:
    job = KINDS[kind](ON_GPUS)
    place = job
    for step in path:
        place = place.setdefault(step, {})
    place["activeDeadlineSeconds"] = 3600

    assert violations(job) == []


@pytest.mark.parametrize("kind", KUBEFLOW)
def test_a_deadline_of_pods_that_are_made_again_is_none_of_the_job(kind: str) -> None:
    (said,) = violations(KINDS[kind]({**ON_GPUS, "activeDeadlineSeconds": 60}))

    assert said.endswith(f" {AGAIN}")


def test_volcanos_job_has_no_deadline_of_its_own() -> None:
    job = KINDS["Volcano Job"](ON_GPUS)
    job["spec"]["activeDeadlineSeconds"] = 3600

    assert violations(job) == [f"Job 'p', 'worker' {MUST}"]


@pytest.mark.parametrize(("minutes", "kept"), [("120", True), ("121", False), ("0", False)])
def test_an_idle_deadline_counts_up_to_the_configured_minutes(minutes: str, kept: bool) -> None:
    assert bool(violations(pod({IDLE: minutes}))) is not kept


@pytest.mark.parametrize("value", ["", "1h", "-5", "1.5", "٣", "99999999999", "{{minutes}}"])
def test_what_is_no_whole_number_is_no_deadline(value: str) -> None:
    assert violations(pod({IDLE: value})) == [f"Pod 'p' {MUST}"]


def test_the_limits_are_settings() -> None:
    day = {**ON_GPUS, "activeDeadlineSeconds": 86_400}

    assert violations(KINDS["Pod"](day), {"max_hours": 24}) == []
    assert "at most 23 hours" in violations(KINDS["Pod"](day), {"max_hours": 23})[0]
    assert "of at most 9 on" in violations(pod({IDLE: "10"}), {"max_idle_minutes": 9})[0]


@pytest.mark.parametrize("kind", SERVICES)
def test_a_service_has_no_end(kind: str) -> None:
    assert violations(KINDS[kind](ON_GPUS)) == []


@pytest.mark.parametrize("kind", JOBS)
def test_a_job_without_gpus_is_left_alone(kind: str) -> None:
    assert violations(KINDS[kind]({"containers": [container()]})) == []
    assert violations(KINDS[kind]({"containers": [gpu_container(gpus="0")]})) == []


def test_parts_of_gpus_are_gpus() -> None:
    slices = container(limits={"nvidia.com/mig-1g.18gb": 1})

    assert violations(KINDS["Pod"]({"containers": [slices]})) == [f"Pod 'p' {MUST}"]


def test_a_pod_that_another_object_made_was_judged_with_it() -> None:
    made = pod({})
    made["metadata"]["ownerReferences"] = [OWNER]

    assert violations(made) == []


def test_a_kind_of_another_group_with_the_same_name_has_judged_nothing() -> None:
    made = pod({})
    made["metadata"]["ownerReferences"] = [{**OWNER, "apiVersion": "jobs.example.com/v1"}]

    assert violations(made) == [f"Pod 'p' {MUST}"]


@pytest.mark.parametrize("kind", [kind for kind in JOBS if kind != "Pod"])
def test_a_job_that_an_object_of_no_rule_made_is_judged_itself(kind: str) -> None:
    job = KINDS[kind](ON_GPUS)
    job["metadata"]["ownerReferences"] = [{"kind": "SparkApplication", "name": "train"}]

    assert violations(job) != []


def test_a_deadline_of_all_templates_of_a_workflow_is_one_of_each() -> None:
    for kind in ("Workflow", "CronWorkflow", "ClusterWorkflowTemplate"):
        flow = KINDS.get(kind, KINDS["Workflow"])(ON_GPUS)
        flow["kind"] = kind
        spec = flow["spec"].get("workflowSpec", flow["spec"])
        spec["templateDefaults"] = {"activeDeadlineSeconds": 604_800}
        assert violations(flow) == []
        spec["templateDefaults"] = {"activeDeadlineSeconds": 604_801}
        assert violations(flow) != []
