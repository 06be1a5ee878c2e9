"""Jobs whose limit begins anew, or leaves the GPUs behind: `(rule, what it is, object)`."""

from collections.abc import Iterator
from typing import Any

from tests.support.admission.objects import (
    JOBS,
    LABELS,
    Object,
    gpus,
    job,
    limited,
    made,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
DEADLINE = "idle/job-deadline"
HOUR, WEEK, MOST = 3600, 604_800, 2_147_483_647
_REMOVED = {"event": "PodEvicted", "action": "RestartJob"}
_FAILED = {"event": "PodFailed", "action": "RestartJob"}
_LATER = {"events": ["PodEvicted", "TaskFailed"], "action": "RestartTask"}
_BY_CODE = {"exitCode": 137, "action": "RestartPod"}
_IGNORED = {"name": "r", "action": "RestartJobSetAndIgnoreMaxRestarts"}
_MAINTAINED = {**_IGNORED, "onJobFailureReasons": ["PodFailurePolicy"]}
_SHUTS = {"shutdownAfterJobFinishes": True}


def bare(**spec: Any) -> Object:
    """The template of a pod with a GPU and without an idle deadline."""
    found = template(gpus(), **spec)
    return {**found, "metadata": {"labels": LABELS}}


def at_night(found: Object) -> Object:
    """The CronJob of Volcano that makes a Job."""
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": found["spec"]}}
    return made("batch.volcano.sh/v1alpha1", "CronJob", spec)


def _gang(seconds: int, *policies: Object, **spec: Any) -> Object:
    return volcano(bare(activeDeadlineSeconds=seconds), policies=list(policies), **spec)


def _of_task(seconds: int, policy: Object) -> Object:
    found = _gang(seconds)
    found["spec"]["tasks"][1]["policies"] = [policy]
    return found


def _job_set(seconds: int, **policy: object) -> Object:
    inner = job(bare(), activeDeadlineSeconds=seconds)["spec"]
    spec: Object = {"replicatedJobs": [{"name": "w", "template": {"spec": inner}}]}
    spec |= {"failurePolicy": policy} if policy else {}
    return made("jobset.x-k8s.io/v1alpha2", "JobSet", spec)


def _ray_job(**spec: Any) -> Object:
    head: Object = {"rayStartParams": {}, "template": template(limited())}
    group = {"groupName": "gpu", "replicas": 1, "template": bare()}
    cluster = {"headGroupSpec": head, "workerGroupSpecs": [group]}
    own = {"rayClusterSpec": cluster, "activeDeadlineSeconds": HOUR, **spec}
    return made("ray.io/v1", "RayJob", own)


def _by_rule(policy: str, **on: object) -> Object:
    return _ray_job(deletionStrategy={"deletionRules": [{"policy": policy, "condition": on}]})


def _retried(**retries: object) -> Object:
    found = workflow(bare(activeDeadlineSeconds=WEEK // 3))
    found["spec"]["templates"][1]["retryStrategy"] = retries
    return found


def _ray_cluster() -> Object:
    head: Object = {"rayStartParams": {}, "template": template(limited())}
    group = {"groupName": "gpu", "replicas": 1, "template": bare(activeDeadlineSeconds=HOUR)}
    return made("ray.io/v1", "RayCluster", {"headGroupSpec": head, "workerGroupSpecs": [group]})


def _limited(seconds: int, **spec: Any) -> Object:
    return job(bare(activeDeadlineSeconds=seconds), **spec)


def good() -> Iterator[Row]:
    """Jobs that end in time with all that is made again."""
    failed = {"jobDeploymentStatus": "Failed"}
    ends: dict[str, Object] = {
        "Volcano makes again what was removed": _gang(WEEK, _REMOVED, maxRetry=MOST),
        "three runs of Volcano by default": _gang(WEEK // 3, _FAILED),
        "two runs of Volcano": _gang(WEEK // 2, _LATER, maxRetry=2),
        "a task that Volcano ends": _of_task(WEEK, {**_FAILED, "action": "AbortJob"}),
        "a night of Volcano": at_night(_gang(WEEK, _REMOVED)),
        "seven pods of a Job by default": _limited(WEEK // 7),
        "one pod of a Job after the other": _limited(HOUR, completions=161, backoffLimit=7),
        "a Job's own limit": _limited(HOUR, backoffLimit=MOST, activeDeadlineSeconds=WEEK),
        "a set that is made again": _job_set(WEEK // 4, maxRestarts=3),
        "a set that is made again for machines": _job_set(HOUR, rules=[_MAINTAINED]),
        "a cluster of Ray that is shut down": _ray_job(**_SHUTS),
        "a cluster of Ray after its retries": _ray_job(**_SHUTS, backoffLimit=167),
        "a cluster of Ray that a rule deletes": _by_rule("DeleteCluster", **failed),
        "two retries of Argo": _retried(limit=2),
        "retries of Argo by a parameter": _retried(limit="{{workflow.parameters.n}}"),
    }
    yield from ((DEADLINE, name, found) for name, found in ends.items())


def bad() -> Iterator[Row]:
    """Jobs that hold GPUs beyond their limit."""
    rest = {"ttlSecondsAfterFinished": WEEK}
    failed = {"jobDeploymentStatus": "Failed"}
    last: dict[str, Object] = {
        "Volcano makes again what failed": _gang(HOUR, _FAILED, maxRetry=MOST),
        "four runs of Volcano": _gang(WEEK // 3, _LATER, maxRetry=4),
        "a task that Volcano makes again": _of_task(WEEK, _BY_CODE),
        "an endless night of Volcano": at_night(volcano(bare())),
        "a night of Volcano, made again": at_night(_gang(HOUR, _FAILED, maxRetry=MOST)),
        "pods of a Job for good": _limited(HOUR, backoffLimit=MOST),
        "pods of a Job that succeed for good": _limited(HOUR, completions=MOST, backoffLimit=0),
        "a set that is made again for good": _job_set(HOUR, maxRestarts=MOST),
        "a set that is made again and not counted": _job_set(HOUR, rules=[_IGNORED]),
        "a cluster of Ray that stays": _ray_job(),
        "a cluster of Ray that stays for a week": _ray_job(**_SHUTS, **rest),
        "a cluster of Ray whose rule sees another end": _by_rule("DeleteSelf", jobStatus="FAILED"),
        "a cluster of Ray of which the head stays": _by_rule("DeleteWorkers", **failed),
        "pods of Ray that are made again": _ray_cluster(),
        "retries of Argo without a limit": _retried(),
        "three retries of Argo": _retried(limit="3"),
        "pods of Kubeflow with a limit": JOBS["PyTorchJob"](bare(activeDeadlineSeconds=HOUR)),
    }
    yield from ((DEADLINE, name, found) for name, found in last.items())


def malformed() -> Iterator[Row]:
    """No such object here."""
    yield from ()
