"""How long a job lasts with all that its controller makes again."""

from typing import Any

import pytest

from policies.rules.idle.job_deadline import RULE
from tests.support.policies.gpu_pods import gpu_container

HOURS = 3600
WEEK = 168 * HOURS
REMOVED = {"event": "PodEvicted", "action": "RestartJob"}
DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
BY_EXIT_CODE = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [137]}}
FAILED = {"event": "PodFailed", "action": "RestartJob"}


def kept(manifest: dict[str, Any]) -> bool:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, RULE.defaults()) == []


def template(seconds: object = None) -> dict[str, Any]:
    limit = {} if seconds is None else {"activeDeadlineSeconds": seconds}
    return {"spec": {"containers": [gpu_container()], **limit}}


def made(api_version: str, kind: str, spec: object) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "p"}, "spec": spec}


def job(seconds: int, **spec: object) -> dict[str, Any]:
    return made("batch/v1", "Job", {"template": template(seconds), **spec})


def volcano(seconds: int, *policies: object, **spec: object) -> dict[str, Any]:
    tasks = [{"name": "w", "template": template(seconds)}]
    own = {"tasks": tasks, "policies": list(policies), **spec}
    return made("batch.volcano.sh/v1alpha1", "Job", own)


def at_night(job: dict[str, Any]) -> dict[str, Any]:
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job["spec"]}}
    return made("batch.volcano.sh/v1alpha1", "CronJob", spec)


def job_set(seconds: int, **policy: object) -> dict[str, Any]:
    inner = {"activeDeadlineSeconds": seconds, "template": template()}
    jobs = [{"name": "w", "template": {"spec": inner}}]
    spec = {"replicatedJobs": jobs, **({"failurePolicy": policy} if policy else {})}
    return made("jobset.x-k8s.io/v1alpha2", "JobSet", spec)


def ray_job(**spec: object) -> dict[str, Any]:
    group = {"groupName": "w", "replicas": 1, "template": template()}
    own = {"rayClusterSpec": {"workerGroupSpecs": [group]}, "activeDeadlineSeconds": HOURS, **spec}
    return made("ray.io/v1", "RayJob", own)


def argo(**retries: object) -> dict[str, Any]:
    step = {"name": "s", "container": gpu_container(), "activeDeadlineSeconds": WEEK // 3}
    spec = {"templates": [{**step, "retryStrategy": retries}]}
    return made("argoproj.io/v1alpha1", "Workflow", spec)


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        ({}, 7),
        ({"backoffLimit": 0}, 1),
        ({"backoffLimit": 0, "completions": 6, "parallelism": 2}, 3),
        ({"backoffLimit": 2, "completions": 5, "parallelism": 2}, 5),
        ({"backoffLimitPerIndex": 2, "completions": 2}, 6),
        ({"backoffLimit": 1, "podFailurePolicy": {"rules": [DISRUPTED]}}, 2),
    ],
)
def test_a_pod_of_a_job_ends_with_all_that_the_job_makes(spec: dict[str, Any], runs: int) -> None:
    assert kept(job(WEEK // runs, **spec))
    assert not kept(job(WEEK // runs + 1, **spec))


@pytest.mark.parametrize(
    "spec",
    [
        {"backoffLimit": 2_147_483_647},
        {"backoffLimit": 0, "completions": 2_147_483_647},
        {"backoffLimit": 0, "podFailurePolicy": {"rules": [BY_EXIT_CODE]}},
        {"backoffLimitPerIndex": 2_147_483_647, "completions": 2_147_483_647},
    ],
)
def test_a_job_that_makes_pods_for_good_is_ended_by_its_own_limit_alone(
    spec: dict[str, Any],
) -> None:
    assert not kept(job(60, **spec))
    assert kept(job(60, **spec, activeDeadlineSeconds=WEEK))


@pytest.mark.parametrize("of", [lambda job: job, at_night], ids=["Job", "CronJob"])
def test_a_pod_of_volcano_ends_with_the_restarts_that_its_policies_allow(of: Any) -> None:
    assert kept(of(volcano(WEEK)))
    assert kept(of(volcano(WEEK, REMOVED, maxRetry=2_147_483_647)))
    assert kept(of(volcano(WEEK // 3, FAILED)))
    assert not kept(of(volcano(WEEK // 3 + 1, FAILED)))
    assert not kept(of(volcano(WEEK // 3, FAILED, maxRetry=4)))
    assert not kept(of(volcano(60, FAILED, maxRetry=2_147_483_647)))


@pytest.mark.parametrize(
    ("policy", "restarts"),
    [
        ({"events": ["PodEvicted"], "action": "RestartTask"}, False),
        ({"events": ["PodEvicted", "PodFailed"], "action": "RestartTask"}, True),
        ({"event": "*", "action": "RestartPod"}, True),
        ({"exitCode": 137, "action": "RestartPartition"}, True),
        ({"event": "TaskCompleted", "action": "CompleteJob"}, False),
        ({"event": "PodFailed", "action": "AbortJob"}, False),
    ],
)
def test_a_policy_of_volcano_restarts_by_its_action_and_event(
    policy: dict[str, object], restarts: bool
) -> None:
    assert kept(volcano(WEEK, policy)) is not restarts

    of_task = volcano(WEEK)
    of_task["spec"]["tasks"][0]["policies"] = [policy]
    assert kept(of_task) is not restarts


def test_a_nightly_job_of_volcano_without_an_end_is_refused() -> None:
    night = at_night(volcano(WEEK))
    night["spec"]["jobTemplate"]["spec"]["tasks"][0]["template"] = template()

    assert not kept(night)


def test_a_job_set_ends_with_its_restarts() -> None:
    assert kept(job_set(WEEK))
    assert kept(job_set(WEEK // 4, maxRestarts=3))
    assert not kept(job_set(WEEK // 4, maxRestarts=4))
    assert not kept(job_set(60, maxRestarts=2_147_483_647))


def test_restarts_that_nobody_counts_have_no_end_but_for_maintenance() -> None:
    for action in ("RestartJobSetAndIgnoreMaxRestarts", "RestartJobAndIgnoreMaxRestarts"):
        maintained = {"action": action, "onJobFailureReasons": ["PodFailurePolicy"]}
        failed = {"action": action, "onJobFailureReasons": ["PodFailurePolicy", "DeadlineExceeded"]}
        assert kept(job_set(HOURS, rules=[maintained]))
        assert not kept(job_set(HOURS, rules=[failed]))
        assert not kept(job_set(HOURS, rules=[{"action": action}]))
    assert kept(job_set(HOURS, rules=[{"action": "RestartJobSet"}], maxRestarts=1))


def test_a_ray_job_ends_where_it_gives_its_cluster_back() -> None:
    assert not kept(ray_job())
    assert not kept(ray_job(shutdownAfterJobFinishes=False))
    assert kept(ray_job(shutdownAfterJobFinishes=True))
    rest = WEEK - HOURS
    assert kept(ray_job(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=rest))
    assert not kept(ray_job(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=rest + 1))
    assert kept(ray_job(shutdownAfterJobFinishes=True, backoffLimit=167))
    assert not kept(ray_job(shutdownAfterJobFinishes=True, backoffLimit=168))


def test_a_ray_cron_job_ends_as_its_ray_jobs_do() -> None:
    def nightly(**spec: object) -> dict[str, Any]:
        template = ray_job(**spec)["spec"]
        return made("ray.io/v1", "RayCronJob", {"schedule": "@daily", "jobTemplate": template})

    assert not kept(nightly())
    assert kept(nightly(shutdownAfterJobFinishes=True))


@pytest.mark.parametrize(
    ("strategy", "gives_back"),
    [
        ({"deletionRules": [("DeleteCluster", {"jobDeploymentStatus": "Failed"})]}, True),
        ({"deletionRules": [("DeleteSelf", {"jobDeploymentStatus": "Failed"})]}, True),
        ({"deletionRules": [("DeleteNone", {"jobDeploymentStatus": "Failed"})]}, False),
        ({"deletionRules": [("DeleteWorkers", {"jobDeploymentStatus": "Failed"})]}, False),
        ({"deletionRules": [("DeleteCluster", {"jobStatus": "FAILED"})]}, False),
        ({"onSuccess": {"policy": "DeleteSelf"}, "onFailure": {"policy": "DeleteSelf"}}, False),
    ],
)
def test_a_deletion_strategy_counts_where_it_sees_the_end_of_the_limit(
    strategy: dict[str, Any], gives_back: bool
) -> None:
    said = [{"policy": each, "condition": on} for each, on in strategy.get("deletionRules", ())]
    whole = {**strategy, **({"deletionRules": said} if said else {})}

    assert kept(ray_job(deletionStrategy=whole)) is gives_back
    assert kept(ray_job(deletionStrategy=whole, shutdownAfterJobFinishes=True)) is gives_back


def test_the_sentence_of_a_ray_job_says_what_its_limit_leaves() -> None:
    assert RULE.predicate is not None
    (said,) = RULE.predicate(ray_job(), RULE.defaults())

    assert "must have shutdownAfterJobFinishes or a deletion rule" in said


def test_a_ray_cluster_ends_by_idleness_alone() -> None:
    group: dict[str, Any] = {"groupName": "w", "replicas": 1, "template": template(HOURS)}
    cluster = made("ray.io/v1", "RayCluster", {"workerGroupSpecs": [group]})
    assert not kept(cluster)

    group["template"]["metadata"] = {"annotations": {"fleet.gpu/idle-deadline-minutes": "30"}}
    assert kept(cluster)


@pytest.mark.parametrize(
    ("retries", "ends"),
    [
        ({"limit": 2}, True),
        ({"limit": "2"}, True),
        ({"limit": 3}, False),
        ({}, False),
        ({"retryPolicy": "Always"}, False),
        ({"retryPolicy": "OnError"}, True),
        ({"limit": "{{workflow.parameters.retries}}"}, True),
        ({"backoff": {"maxDuration": "1h"}}, True),
    ],
)
def test_a_template_of_argo_ends_with_its_retries(retries: dict[str, object], ends: bool) -> None:
    assert kept(argo(**retries)) is ends
