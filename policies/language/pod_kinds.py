"""The kinds that make pods, each with the places of its pods' templates: one table for all gates.

A place is a path of fields, such as `spec.replicatedJobs[].template.spec.template`: `[]` stands for
each item of a list and `{}` for each value of a map. The API server, whose language cannot search,
looks at these places alone (`policies.language.cel`); an environment adds kinds of its own by the
key `pods` of its rules. At check and preview every other kind is searched, see
`policies.language.pod_search`.

A pod is called by what leads to its template: the names of the items, else the fields, without
those that every template has (`spec`, `template`).
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

    `service`: it is not meant to end.
    """

    group: str
    resource: str
    kind: str
    templates: tuple[str, ...] = ()
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
    _template("batch.volcano.sh", "Job", "spec.tasks[].template"),
    _template("batch.volcano.sh", "CronJob", "spec.jobTemplate.spec.tasks[].template"),
    _template("flow.volcano.sh", "JobTemplate", "spec.tasks[].template"),
    *(
        PodKind(group="argoproj.io", resource=f"{kind.lower()}s", kind=kind)
        for kind in ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")
    ),
    *(
        _template("kubeflow.org", kind, f"spec.{roles}{{}}.template")
        for kind, roles in KUBEFLOW.items()
    ),
    _template("kubeflow.org", "Notebook", service=True),
    # from the CRDs of JobSet 0.12, LeaderWorkerSet 0.10, KubeRay 1.7, Trainer 2.3 and KEDA 2.20
    _template("jobset.x-k8s.io", "JobSet", _JOB_SET),
    _template(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
        service=True,
    ),
    _template("ray.io", "RayCluster", *_ray("spec")),
    _template("ray.io", "RayJob", *_ray("spec.rayClusterSpec"), "spec.submitterPodTemplate"),
    _template("ray.io", "RayService", *_ray("spec.rayClusterConfig"), service=True),
    _template("trainer.kubeflow.org", "TrainingRuntime", f"spec.template.{_JOB_SET}"),
    _template("trainer.kubeflow.org", "ClusterTrainingRuntime", f"spec.template.{_JOB_SET}"),
    _template(
        "trainer.kubeflow.org",
        "TrainJob",
        f"spec.runtimePatches[].trainingRuntimeSpec.template.{_JOB_SET}",
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


def group_kind(found: object) -> tuple[str, str]:
    """The API group and the kind of an object, or of a reference to one."""
    group, _, _version = str(at(found, "apiVersion")).rpartition("/")
    if group == "extensions":  # where Deployments and DaemonSets once were
        group = "apps"
    return group, str(at(found, "kind"))


def kind_of(manifest: Manifest) -> PodKind | None:
    """The entry of an object's kind; None where the table has none."""
    return _BY_KIND.get(group_kind(manifest))


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
