"""Pods in places where nobody looked: `(rule, what it is, object)`.

Operators' kinds, each with its list of templates, and what Argo lets stand inline or as a default.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.support.admission.objects import (
    ANNOTATIONS,
    IMAGE,
    LABELS,
    Object,
    gpus,
    limited,
    made,
    template,
)

Row = tuple[str, str, Object]
QOS, DEADLINE, HOST = "numa/guaranteed-qos", "idle/job-deadline", "isolation/host-access"
GRACE = "idle/grace-period"
_ARGO = "argoproj.io/v1alpha1"
_RUNTIME = "trainer.kubeflow.org/v1alpha1"


def _replicated(found: Object) -> Object:
    other = {"name": "driver", "template": {"spec": {"template": template(limited())}}}
    return {
        "replicatedJobs": [other, {"name": "worker", "template": {"spec": {"template": found}}}]
    }


def _cluster(found: Object) -> Object:
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": template(limited())},
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "template": found}],
    }


def _tasks(found: Object) -> Object:
    return {"tasks": [{"name": "worker", "replicas": 1, "template": found}]}


def _head(found: Object) -> Object:
    return {"headGroupSpec": {"rayStartParams": {}, "template": found}, "workerGroupSpecs": []}


def _runtime(kind: str) -> Callable[[Object], Object]:
    return lambda found: made(_RUNTIME, kind, {"template": {"spec": _replicated(found)}})


def _patched(found: Object) -> Object:
    runtime = {"template": {"spec": _replicated(found)}}
    patches = [{"manager": "desk", "trainingRuntimeSpec": runtime}]
    return made(_RUNTIME, "TrainJob", {"runtimePatches": patches})


def _overridden(found: Object) -> Object:
    return made(_RUNTIME, "TrainJob", {"podTemplateOverrides": [found]})


def _groups(found: Object) -> Object:
    both = {"leaderTemplate": template(limited()), "workerTemplate": found, "size": 2}
    return {"leaderWorkerTemplate": both}


def _disaggregated(found: Object) -> Object:
    roles = [{"name": "prefill", "spec": _groups(template(limited()))}]
    roles.append({"name": "decode", "spec": _groups(found)})
    return made("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", {"roles": roles})


def _nightly(found: Object, **fields: Any) -> Object:
    job = {"rayClusterSpec": _cluster(found), **fields}
    return made("ray.io/v1", "RayCronJob", {"schedule": "0 3 * * *", "jobTemplate": job})


def _volcano_cron(found: Object) -> Object:
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": _tasks(found)}}
    return made("batch.volcano.sh/v1alpha1", "CronJob", spec)


def _pod_template(found: Object) -> Object:
    labelled = {"name": "train"}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": labelled, "template": found}


JOBS: Mapping[str, Callable[[Object], Object]] = {
    "JobSet": lambda found: made("jobset.x-k8s.io/v1alpha2", "JobSet", _replicated(found)),
    "RayCluster": lambda found: made("ray.io/v1", "RayCluster", _cluster(found)),
    "RayCluster's head": lambda found: made("ray.io/v1", "RayCluster", _head(found)),
    "RayJob": lambda found: made("ray.io/v1", "RayJob", {"rayClusterSpec": _cluster(found)}),
    "RayJob's submitter": lambda found: made(
        "ray.io/v1",
        "RayJob",
        {"rayClusterSpec": _cluster(template(limited())), "submitterPodTemplate": found},
    ),
    "RayCronJob": _nightly,
    "CronJob of Volcano": _volcano_cron,
    "TrainJob": _patched,
    "TrainJob of an earlier Trainer": _overridden,
    "ScaledJob": lambda found: made(
        "keda.sh/v1alpha1", "ScaledJob", {"jobTargetRef": {"template": found}}
    ),
}
"""From a pod's template to an object whose kind is meant to end."""
OTHERS: Mapping[str, Callable[[Object], Object]] = {
    "LeaderWorkerSet": lambda found: made(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", _groups(found)
    ),
    "DisaggregatedSet": _disaggregated,
    "RayService": lambda found: made(
        "ray.io/v1", "RayService", {"rayClusterConfig": _cluster(found)}
    ),
    "TrainingRuntime": _runtime("TrainingRuntime"),
    "ClusterTrainingRuntime": _runtime("ClusterTrainingRuntime"),
    "PodTemplate": _pod_template,
}


def step(found: Object, **fields: Any) -> Object:
    """A template of Argo with one container, and labels and an end."""
    metadata = {"labels": LABELS, "annotations": ANNOTATIONS}
    return {"metadata": metadata, "container": found, **fields}


def workflow(*templates: Object, **fields: Any) -> Object:
    """A Workflow of Argo of these templates."""
    return made(_ARGO, "Workflow", {"entrypoint": "main", "templates": list(templates), **fields})


def inline_task(found: Object) -> Object:
    """A template that stands in a task."""
    return workflow({"name": "main", "dag": {"tasks": [{"name": "a", "inline": found}]}})


def inline_step(found: Object) -> Object:
    """A template that stands in a step."""
    before = [{"name": "first", "template": "other"}]
    steps = [before, [{"name": "a", "inline": found}, {"name": "b", "template": "other"}]]
    return workflow({"name": "main", "steps": steps}, {"name": "other", **step(limited())})


def cron(found: Object) -> Object:
    """The same workflow at three o'clock."""
    return made(_ARGO, "CronWorkflow", {"schedule": "0 3 * * *", "workflowSpec": found["spec"]})


def defaults(default: Object, own: Object) -> Object:
    """A template that leaves some things to the defaults of its workflow."""
    return workflow({"name": "main", **own}, templateDefaults=default)


_BARE = {"labels": LABELS}
_PATCH = '{"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}'
_PRIVILEGED = {"name": "main", "image": IMAGE, "securityContext": {"privileged": True}}


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for name, of in {**JOBS, **OTHERS}.items():
        yield QOS, f"a {name} of whole CPUs", of(template(gpus()))
    for name, of in JOBS.items():
        yield DEADLINE, f"a {name} that may idle for an hour", of(template(gpus()))
    for name, of in OTHERS.items():
        yield DEADLINE, f"a {name}, which is no job", of(_ending_never())
    ray = {"rayClusterSpec": _cluster(_ending_never()), "activeDeadlineSeconds": 3600}
    yield DEADLINE, "a RayJob with a limit", made("ray.io/v1", "RayJob", ray)
    yield DEADLINE, "a RayCronJob with a limit", _nightly(_ending_never(), activeDeadlineSeconds=60)
    yield DEADLINE, "a JobSet whose jobs have a limit", _job_set(604800)
    patch = template({"name": "main", "env": []}, nodeSelector={"fleet.gpu/pool": "dgx"})
    for rule in ("numa/memory-limit", "isolation/image-digest"):
        yield rule, "a TrainJob whose patch leaves the container as it is", _patched(patch)
    runs = template({**gpus("8"), "command": ["torchrun", "train.py"]})
    yield (
        "idle/launcher",
        "a torchrun that Trainer tells its number",
        _runtime("TrainingRuntime")(runs),
    )
    for name, of in (("task", inline_task), ("step", inline_step)):
        yield QOS, f"a template in a {name}", of(step(gpus()))
        yield QOS, f"a template in a {name} at night", cron(of(step(gpus())))
        yield (
            DEADLINE,
            f"a template with a limit in a {name}",
            of({"metadata": _BARE, "container": gpus(), "activeDeadlineSeconds": 3600}),
        )
    of_default = {"container": {"resources": {"limits": {"cpu": "8", "memory": "64Gi"}}}}
    bare = gpus()
    bare["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    yield QOS, "limits by default", defaults(of_default, step(bare))
    annotated = {"metadata": {"annotations": ANNOTATIONS}}
    own = {"metadata": _BARE, "container": gpus()}
    yield DEADLINE, "an end by default", defaults(annotated, own)
    waits = {"metadata": {"annotations": {"fleet.gpu/checkpoint-seconds": "20"}}}
    yield GRACE, "a checkpoint by default", defaults(waits, own)
    ending = {"name": "main", **step(limited())}
    yield (
        DEADLINE,
        "GPUs by a patch with parameters",
        workflow(ending, podSpecPatch=_PATCH.replace("8", "{{n}}")),
    )
    script = {"script": {"image": "x", "resources": {"limits": {"cpu": "7.5"}}}}
    yield QOS, "a default for scripts alone", defaults(script, step(gpus()))


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    for name, of in {**JOBS, **OTHERS}.items():
        yield QOS, f"a {name} of parts of CPUs", of(template(gpus(cpu="7.5")))
        yield HOST, f"a {name} on its host", of(template(gpus(), hostNetwork=True))
    for name, of in JOBS.items():
        yield DEADLINE, f"a {name} without an end", of(_ending_never())
    ray = {"rayClusterSpec": _cluster(_ending_never()), "activeDeadlineSeconds": 604801}
    yield DEADLINE, "a RayJob with a long limit", made("ray.io/v1", "RayJob", ray)
    late = _nightly(_ending_never(), activeDeadlineSeconds=604801)
    yield DEADLINE, "a RayCronJob with a long limit", late
    yield DEADLINE, "a JobSet whose jobs have a long limit", _job_set(604801)
    for name, of in (("task", inline_task), ("step", inline_step)):
        yield QOS, f"a template in a {name}", of(step(gpus(cpu="7.5")))
        yield QOS, f"a template in a {name} at night", cron(of(step(gpus(cpu="7.5"))))
        yield HOST, f"a privileged template in a {name}", of(step(_PRIVILEGED))
        yield DEADLINE, f"a template in a {name}", of({"metadata": _BARE, "container": gpus()})
    asked = {"container": {"resources": {"limits": {"nvidia.com/gpu": 8}}}}
    yield QOS, "GPUs by default", defaults(asked, step(limited(cpu="7.5")))
    privileged = {"container": {"securityContext": {"privileged": True}}}
    yield HOST, "privileged by default", defaults(privileged, step(limited()))
    yield (
        HOST,
        "privileged by default in a task",
        workflow(
            {"name": "main", "dag": {"tasks": [{"name": "a", "inline": step(limited())}]}},
            templateDefaults=privileged,
        ),
    )
    sidecar = {"sidecars": [{**_PRIVILEGED, "name": "side"}]}
    yield HOST, "a sidecar by default", defaults(sidecar, step(limited()))
    for name, text in (
        ("a patch", _PATCH),
        ("a patch with parameters", _PATCH.replace("8", "{{n}}")),
    ):
        bare = {"name": "main", "metadata": _BARE, "container": limited()}
        yield DEADLINE, f"GPUs by {name}", workflow({**bare, "podSpecPatch": text})
        yield DEADLINE, f"GPUs by {name} for all", workflow(bare, podSpecPatch=text)
    own = {"metadata": _BARE, "container": gpus()}
    yield DEADLINE, "a late end by default", defaults({"activeDeadlineSeconds": 604801}, own)


def _job_set(seconds: int) -> Object:
    found = JOBS["JobSet"](_ending_never())
    found["spec"]["replicatedJobs"][1]["template"]["spec"]["activeDeadlineSeconds"] = seconds
    return found


def _ending_never() -> Object:
    found = template(gpus())
    return {**found, "metadata": {"labels": LABELS}}


def malformed() -> Iterator[Row]:
    """No such object here."""
    yield from ()
