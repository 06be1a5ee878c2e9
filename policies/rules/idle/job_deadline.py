"""A job on GPUs must end some day: by a wall-clock limit, or by an idle deadline of its own.

A job is what is meant to end: a Job, a CronJob, a Job of Volcano, a training job of Kubeflow, a
Workflow of Argo, a RayJob or RayCluster, a Pod that nobody made. A Deployment or StatefulSet is a
service and has none. Of a kind that nobody has listed the rule cannot tell, so that it is left to
its pods.

- The wall-clock limit is `activeDeadlineSeconds`: of the job where its kind has one (Kubeflow has
  it in `runPolicy`, a JobSet in each of its jobs), else of the pod. Volcano's Job has none, so that
  each of its tasks' templates must. Argo's `templateDefaults` counts for each template.
- A limit that begins anew with each restart counts with all of them: a pod's of a Job up to its
  `backoffLimit`, of Volcano up to `maxRetry` where a policy restarts it, a JobSet's up to
  `maxRestarts`, Argo's up to the `limit` of its `retryStrategy`. KubeRay makes the pods of a
  RayCluster again for good, and in Kubeflow's jobs the limit of the pods does not count.
- A RayJob gives its cluster back with `shutdownAfterJobFinishes: true`, behind its
  `ttlSecondsAfterFinished`, or by a deletion rule for the `jobDeploymentStatus` Failed. Without
  either its limit ends the job and leaves the GPUs with the cluster.
- The idle deadline is the annotation `fleet.gpu/idle-deadline-minutes` of the pods: after so many
  minutes without work the program ends itself. The alert GpuPodIdle reports one that does not.

Both are whole numbers; the longest that counts is a setting.
"""

from typing import cast

from policies.language import argo, cel, job_ends
from policies.language.annotations import within
from policies.language.cel_forms import ASKS_FOR_GPUS, Fault, of_pods
from policies.language.facts import declared_kinds
from policies.language.gpu_work import (
    IS_OWNED_POD,
    IS_SERVICE,
    asks_for_gpus,
    counted,
    is_owned_pod,
    is_service,
)
from policies.language.pod_kinds import kind_of
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Rule, Settings
from settings.names import PREFIX

ID = "idle/job-deadline"
IDLE = f"{PREFIX}/idle-deadline-minutes"
_OR_IDLE = f"or the annotation {IDLE} of at most {{minutes}} on its pods."
_MUST = f"must have activeDeadlineSeconds of at most {{hours}} hours {_OR_IDLE}"
_AGAIN = (
    "must have activeDeadlineSeconds of at most {hours} hours in all, as each restart of its pods "
    f"begins theirs anew, {_OR_IDLE}"
)
_RAY_JOB = (
    "must have shutdownAfterJobFinishes or a deletion rule for the jobDeploymentStatus Failed, "
    "without which activeDeadlineSeconds leaves its cluster, and end within {hours} hours with "
    f"all its retries, or have {_OR_IDLE.removeprefix('or ')}"
)
_MAKES_NOTHING = ("PodTemplate", "TrainingRuntime", "ClusterTrainingRuntime")
"""Kinds of which others make jobs, which have the limit."""


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods with GPUs of a job that nothing ends."""
    if not _is_job(manifest, settings):
        return []
    hours, minutes = cast("int", settings["max_hours"]), cast("int", settings["max_idle_minutes"])
    whole = job_ends.of_whole_job(manifest)
    if whole <= hours * 3600:
        return []
    found = []
    for pod in _on_gpus(manifest):
        own = job_ends.of_pod(manifest, pod)
        ends = own * job_ends.runs(manifest, pod) <= hours * 3600
        if not ends and not _within(pod.annotations.get(IDLE), minutes):
            ray = job_ends.is_limited_ray_job(manifest)
            must = _RAY_JOB if ray else _MUST if own > hours * 3600 else _AGAIN
            found.append(f"{subject(manifest, pod)} {must.format(hours=hours, minutes=minutes)}")
    return found


def _on_gpus(manifest: Manifest) -> list[Pod]:
    """The pods on GPUs, and those of Argo that may get some by a patch, which CEL cannot read."""
    patched = argo.speaks_of_gpus(manifest)
    return [pod for pod in pods(manifest) if asks_for_gpus(pod) or pod.name in patched]


def _is_job(manifest: Manifest, settings: Settings) -> bool:
    """Return whether this is a job, made by nobody, of a kind that is listed."""
    if is_service(manifest) or is_owned_pod(manifest) or manifest.get("kind") in _MAKES_NOTHING:
        return False
    declared = {each.kind: each for each in declared_kinds(facts(settings))}
    own = declared.get(str(manifest.get("kind")))
    return kind_of(manifest) is not None or (own is not None and not own.service)


def _within(value: object, limit: int) -> bool:
    number = counted(value)
    return number is not None and number <= limit


_HOURS, _MINUTES = cel.setting(ID, "max_hours"), cel.setting(ID, "max_idle_minutes")
_LIMIT = f"{_HOURS} * 3600"
_ANNOTATED = f"p.annotations[?'{IDLE}']"
_ON_GPUS = f"variables.pods.filter(p, {ASKS_FOR_GPUS} || {argo.SPEAKS_OF_GPUS})"
_JUDGED = f"!{IS_SERVICE} && !{IS_OWNED_POD} && !(object.kind in {list(_MAKES_NOTHING)})"


def _says(template: str) -> str:
    return cel.text(template, hours=f"string({_HOURS})", minutes=f"string({_MINUTES})")


RULE = Rule(
    id=ID,
    sentence="A job on GPUs must have a wall-clock limit or an idle deadline.",
    why=(
        "A job that hangs holds its GPUs until somebody looks: nobody else gets them, and "
        "Karpenter cannot remove their node."
    ),
    source="https://kubernetes.io/docs/concepts/workloads/controllers/job/",
    schema={
        "max_hours": {
            "type": "integer",
            "minimum": 1,
            "maximum": 8760,
            "default": 168,
            "description": "Hours of the longest wall-clock limit that counts as one.",
        },
        "max_idle_minutes": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1440,
            "default": 120,
            "description": "Minutes of the longest idle deadline that counts as one.",
        },
    },
    watched_by=("GpuPodIdle", "GpuNodeAllocatedButIdle"),
    predicate=violations,
    admission=of_pods(
        f"{_JUDGED} && variables.ofTheJob > {_LIMIT} ? {_ON_GPUS} : []",
        [
            Fault(
                broken=(
                    f"{job_ends.OF_POD} * {job_ends.RUNS} > {_LIMIT} && "
                    f"!{within(_ANNOTATED, _MINUTES)}"
                ),
                says=(
                    f"{job_ends.IS_LIMITED_RAY_JOB} ? {_says(_RAY_JOB)} : "
                    f"{job_ends.OF_POD} > {_LIMIT} ? {_says(_MUST)} : {_says(_AGAIN)}"
                ),
            )
        ],
        variables=job_ends.VARIABLES,
    ),
)
