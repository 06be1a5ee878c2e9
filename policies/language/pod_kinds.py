"""The kinds that make pods, each with the places of its pods' templates: one table for all gates.

A place is a path of fields, such as `spec.replicatedJobs[].template.spec.template`: `[]` stands for
each item of a list and `{}` for each value of a map. The API server, whose language cannot search,
looks at these places alone (`policies.language.cel`); an environment adds kinds of its own by the
key `pods` of its rules. At check and preview every other kind is searched, see
`policies.language.pod_search`.

A pod is called by what leads to its template: the names of the items, else the fields, without
those that every template has (`spec`, `template`).

The places were read in the CRDs of these releases: Volcano 1.14.1, Argo Workflows 3.7.0,
training-operator 1.9.0, MPI Operator 0.8.0, Trainer 2.3.0 (and 2.1.0), JobSet 0.12.0,
LeaderWorkerSet 0.10.0, KubeRay 1.7.0, KEDA 2.20.2, and Kubeflow's Notebook at its commit 0708d138.
The search was held to those of KServe 0.20.0, Spark Operator 2.5.2 and HyperPod's CLI 3.9.0.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from policies.language.manifest import at, items, mapping
from policies.language.rule import Manifest

PLACE = r"^[A-Za-z][A-Za-z0-9]*(\[\])?(\.[A-Za-z][A-Za-z0-9]*(\[\])?)*$"
"""The form of a place in a kind of an environment's own."""
KUBEFLOW = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}
"""Kubeflow's training jobs, each with the field of its roles."""
_UNSAID = ("spec", "template", "jobTemplate")
_STEP = re.compile(r"([A-Za-z][A-Za-z0-9]*)(\[\]|\{\})?")
_NAMES = ("name", "groupName")
"""Fields by which the items of a list are called."""


@dataclass(frozen=True, kw_only=True)
class PodKind:
    """A kind that makes pods. Without `templates` it is a pod, or a module reads it (Argo's).

    `containers` are places of containers that its operator puts into pods which are elsewhere, such
    as in the runtime of a TrainJob. Check and preview judge them; the API server cannot know what
    the rest of these pods says, and judges them when they are made. `service`: it is not meant to
    end.
    """

    group: str
    resource: str
    kind: str
    templates: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    service: bool = False


def _template(group: str, kind: str, *templates: str, service: bool = False) -> PodKind:
    return PodKind(
        group=group,
        resource=f"{kind.lower()}s",
        kind=kind,
        templates=templates or ("spec.template",),
        service=service,
    )


def _ray(holder: str) -> tuple[str, ...]:
    return f"{holder}.headGroupSpec.template", f"{holder}.workerGroupSpecs[].template"


def _groups(holder: str) -> tuple[str, ...]:
    both = ("leaderTemplate", "workerTemplate")
    return tuple(f"{holder}.leaderWorkerTemplate.{each}" for each in both)


_TASKS = "spec.tasks[].template"
_JOB_SET = "spec.replicatedJobs[].template.spec.template"
SHIPPED: tuple[PodKind, ...] = (
    PodKind(group="", resource="pods", kind="Pod"),
    _template("", "ReplicationController", service=True),
    _template("", "PodTemplate", "template"),
    *(
        _template("apps", kind, service=True)
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    ),
    _template("batch", "Job"),
    _template("batch", "CronJob", "spec.jobTemplate.spec.template"),
    _template("batch.volcano.sh", "Job", _TASKS),
    _template("batch.volcano.sh", "CronJob", f"spec.jobTemplate.{_TASKS}"),
    _template("flow.volcano.sh", "JobTemplate", _TASKS),
    *(
        PodKind(group="argoproj.io", resource=f"{kind.lower()}s", kind=kind)
        for kind in ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")
    ),
    *(
        _template("kubeflow.org", kind, f"spec.{roles}{{}}.template")
        for kind, roles in KUBEFLOW.items()
    ),
    _template("kubeflow.org", "Notebook", service=True),
    _template("jobset.x-k8s.io", "JobSet", _JOB_SET),
    _template("leaderworkerset.x-k8s.io", "LeaderWorkerSet", *_groups("spec"), service=True),
    _template(
        "disaggregatedset.x-k8s.io",
        "DisaggregatedSet",
        *_groups("spec.roles[].spec"),
        service=True,
    ),
    _template("ray.io", "RayCluster", *_ray("spec")),
    _template("ray.io", "RayJob", *_ray("spec.rayClusterSpec"), "spec.submitterPodTemplate"),
    _template(
        "ray.io",
        "RayCronJob",
        *_ray("spec.jobTemplate.rayClusterSpec"),
        "spec.jobTemplate.submitterPodTemplate",
    ),
    _template("ray.io", "RayService", *_ray("spec.rayClusterConfig"), service=True),
    _template("trainer.kubeflow.org", "TrainingRuntime", f"spec.template.{_JOB_SET}"),
    _template("trainer.kubeflow.org", "ClusterTrainingRuntime", f"spec.template.{_JOB_SET}"),
    PodKind(
        group="trainer.kubeflow.org",
        resource="trainjobs",
        kind="TrainJob",
        templates=(
            f"spec.runtimePatches[].trainingRuntimeSpec.template.{_JOB_SET}",
            "spec.podTemplateOverrides[]",  # the same in Trainer 2.1
        ),
        containers=("spec.trainer", "spec.initializer.dataset", "spec.initializer.model"),
    ),
    _template("keda.sh", "ScaledJob", "spec.jobTargetRef.template"),
)
"""Everything that makes pods and that the rules look into at the API server."""
_BY_KIND = {(each.group, each.kind): each for each in SHIPPED}
SERVICES = (
    *(each.kind for each in SHIPPED if each.service),
    # KServe's, which have no templates at known places
    *("InferenceService", "LLMInferenceService", "LLMInferenceServiceConfig"),
    *("ServingRuntime", "ClusterServingRuntime"),
)
"""Kinds that are not meant to end."""


def kind_of(manifest: Manifest) -> PodKind | None:
    """The entry of an object's kind; None where the table has none."""
    group, _, _version = str(manifest.get("apiVersion")).rpartition("/")
    kind = str(manifest.get("kind"))
    if group == "extensions":  # where Deployments and DaemonSets once were
        group = "apps"
    return _BY_KIND.get((group, kind))


@dataclass(frozen=True, kw_only=True)
class Step:
    """A field of a place; `holds` is `[]` for a list, `{}` for a map, else empty."""

    field: str
    holds: str = ""


def steps(place: str) -> tuple[Step, ...]:
    """The fields of a place in their order."""
    return tuple(Step(field=found[1], holds=found[2] or "") for found in _STEP.finditer(place))


def called(place: Sequence[str]) -> str:
    """The name of a pod by the parts of the way to its template."""
    return ".".join(part for part in place if part not in _UNSAID)


def item_name(item: object, otherwise: str) -> str:
    """The name of an item of a list, else what stands for it."""
    for field in _NAMES:
        said = at(item, field)
        if isinstance(said, str):
            return said
    return otherwise


def inline(manifest: Manifest, kind: PodKind) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the containers of an object that stand in no pod, each with the name of its pod."""
    for place in kind.containers:
        for name, found in _below(manifest, steps(place), ()):
            if found is not None:
                yield name, mapping(found)


def templates(manifest: Manifest, kind: PodKind) -> Iterator[tuple[str, object]]:
    """Yield the templates in an object of a kind, each with the name of its pod.

    An item of a list counts also where it has no template.
    """
    for place in kind.templates:
        way = steps(place)
        found = _below(manifest, way, ())
        among_items = sum(bool(step.holds) for step in way) == 1
        yield from (each for each in found if among_items or each[1] is not None)


def _below(
    holder: object, left: Sequence[Step], way: tuple[str, ...]
) -> Iterator[tuple[str, object]]:
    if not left:
        yield called(way), holder
        return
    step, found = left[0], at(holder, left[0].field)
    if step.holds == "[]":
        for index, item in enumerate(items(found)):
            name = item_name(item, f"{step.field}[{index}]")
            yield from _below(item, left[1:], (*way, name))
    elif step.holds == "{}":
        roles: Mapping[str, object] = mapping(found)
        for role in sorted(roles):
            yield from _below(roles[role], left[1:], (*way, role))
    else:
        yield from _below(found, left[1:], (*way, step.field))
