"""A job on GPUs must end some day: by a wall-clock limit, or by an idle deadline of its own.

A job is what is meant to end: a Job, a CronJob, a Job of Volcano, a training job of Kubeflow, a
Workflow of Argo, a RayJob or RayCluster, a Pod that nobody made. A Deployment or StatefulSet is a
service and has none. Of a kind that nobody has listed the rule cannot tell, so that it is left to
its pods.

- The wall-clock limit is `activeDeadlineSeconds`: of the job where its kind has one (Kubeflow has
  it in `runPolicy`, a JobSet in each of its jobs), else of the pod. Volcano's Job has none, so that
  each of its tasks' templates must. Argo's `templateDefaults` counts for each template.
- The idle deadline is the annotation `fleet.gpu/idle-deadline-minutes` of the pods: after so many
  minutes without work the program ends itself. The alert GpuPodIdle reports one that does not.

Both are whole numbers; the longest that counts is a setting.
"""

from collections.abc import Mapping
from typing import cast

from policies.language import argo, cel
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
from policies.language.manifest import at, items
from policies.language.pod_kinds import KUBEFLOW, kind_of
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Rule, Settings
from settings.names import PREFIX

ID = "idle/job-deadline"
IDLE = f"{PREFIX}/idle-deadline-minutes"
_MUST = (
    "must have activeDeadlineSeconds of at most {hours} hours or the annotation "
    f"{IDLE} of at most {{minutes}} on its pods."
)
_WORKFLOWS: Mapping[str, tuple[str, ...]] = {
    "Workflow": ("spec",),
    "WorkflowTemplate": ("spec",),
    "ClusterWorkflowTemplate": ("spec",),
    "CronWorkflow": ("spec", "workflowSpec"),
}
_WHOLE_JOB: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Pod", "Job", "RayJob", "TrainJob"), ("spec",)),
    "CronJob": ("spec", "jobTemplate", "spec"),
    "RayCronJob": ("spec", "jobTemplate"),
    "ScaledJob": ("spec", "jobTargetRef"),
    **_WORKFLOWS,
    **dict.fromkeys(KUBEFLOW, ("spec", "runPolicy")),
}
_MAKES_NOTHING = ("PodTemplate", "TrainingRuntime", "ClusterTrainingRuntime")
"""Kinds of which others make jobs, which have the limit."""


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods with GPUs of a job that nothing ends."""
    if not _is_job(manifest, settings):
        return []
    hours, minutes = cast("int", settings["max_hours"]), cast("int", settings["max_idle_minutes"])
    if _within(_of_the_job(manifest), hours * 3600):
        return []
    by_default = _within(_of_each_template(manifest), hours * 3600)
    return [
        f"{subject(manifest, pod)} {_MUST.format(hours=hours, minutes=minutes)}"
        for pod in _on_gpus(manifest)
        if not (by_default or _ends(pod, hours * 3600, minutes))
        and not _within(_of_its_job(manifest, pod), hours * 3600)
    ]


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


def _of_the_job(manifest: Manifest) -> object:
    if ".volcano.sh/" in str(manifest.get("apiVersion")):
        return None
    path = _WHOLE_JOB.get(str(manifest.get("kind")))
    return at(manifest, *path, "activeDeadlineSeconds") if path else None


def _of_each_template(manifest: Manifest) -> object:
    path = _WORKFLOWS.get(str(manifest.get("kind")), ())
    return at(manifest, *path, "templateDefaults", "activeDeadlineSeconds") if path else None


def _of_its_job(manifest: Manifest, pod: Pod) -> object:
    """The limit of the job in a JobSet that makes a pod, which has the job's name."""
    if manifest.get("kind") != "JobSet":
        return None
    for job in items(at(manifest, "spec", "replicatedJobs")):
        if at(job, "name") == pod.name:
            return at(job, "template", "spec", "activeDeadlineSeconds")
    return None


def _ends(pod: Pod, limit: int, minutes: int) -> bool:
    deadline = pod.spec.get("activeDeadlineSeconds")
    return _within(deadline, limit) or _within(pod.annotations.get(IDLE), minutes)


def _within(value: object, limit: int) -> bool:
    number = counted(value)
    return number is not None and number <= limit


_HOURS, _MINUTES = cel.setting(ID, "max_hours"), cel.setting(ID, "max_idle_minutes")
_LIMIT = f"{_HOURS} * 3600"
_ANNOTATED = f"p.annotations[?'{IDLE}']"
_SPEC_OF = "dyn(object).?spec"
_OF_THE_JOB = (
    "object.apiVersion.contains('.volcano.sh/') ? optional.none() : "
    f"object.kind == 'CronJob' ? {_SPEC_OF}.?jobTemplate.?spec.?activeDeadlineSeconds : "
    f"object.kind == 'RayCronJob' ? {_SPEC_OF}.?jobTemplate.?activeDeadlineSeconds : "
    f"object.kind == 'ScaledJob' ? {_SPEC_OF}.?jobTargetRef.?activeDeadlineSeconds : "
    f"object.kind == 'CronWorkflow' ? {_SPEC_OF}.?workflowSpec.?activeDeadlineSeconds : "
    f"object.kind in {list(KUBEFLOW)} ? {_SPEC_OF}.?runPolicy.?activeDeadlineSeconds : "
    f"object.kind in {[kind for kind, path in _WHOLE_JOB.items() if path == ('spec',)]} ? "
    f"{_SPEC_OF}.?activeDeadlineSeconds : optional.none()"
)
_NO_LIMIT_OF_ITS_JOB = (
    f"!(object.kind == 'JobSet' && {cel.listed('object.?spec', 'replicatedJobs')}.exists(j, "
    f"j.?name.orValue('') == p.name && "
    f"{within('j.?template.?spec.?activeDeadlineSeconds', _LIMIT)}))"
)
_BY_DEFAULT = (
    "!object.apiVersion.startsWith('argoproj.io/') ? optional.none() : "
    "object.kind == 'CronWorkflow' ? "
    "dyn(object).spec.?workflowSpec.?templateDefaults.?activeDeadlineSeconds : "
    "dyn(object).spec.?templateDefaults.?activeDeadlineSeconds"
)
_ON_GPUS = f"variables.pods.filter(p, {ASKS_FOR_GPUS} || {argo.SPEAKS_OF_GPUS})"
_JUDGED = f"!{IS_SERVICE} && !{IS_OWNED_POD} && !(object.kind in {list(_MAKES_NOTHING)})"

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
        f"{_JUDGED} && !{within('variables.ofTheJob', _LIMIT)} && "
        f"!{within('variables.byDefault', _LIMIT)} ? {_ON_GPUS} : []",
        [
            Fault(
                broken=(
                    f"!{within('p.spec.?activeDeadlineSeconds', _LIMIT)} && "
                    f"!{within(_ANNOTATED, _MINUTES)} && {_NO_LIMIT_OF_ITS_JOB}"
                ),
                says=cel.text(_MUST, hours=f"string({_HOURS})", minutes=f"string({_MINUTES})"),
            )
        ],
        variables={"ofTheJob": _OF_THE_JOB, "byDefault": _BY_DEFAULT},
    ),
)
