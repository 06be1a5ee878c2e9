"""The pods that an object has at once, how many of each and with how many GPUs; in Python and in
CEL.

- A Job has as many as its `parallelism`, and never more than its `completions`.
- A group of LeaderWorkerSet has `size` pods, one of them by the leader's template.
- The workers of a RayCluster are its `replicas`, or `minReplicas` where those are more.
- A Workflow of Argo has steps, of which nobody can say how many run at once: it has none here.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from policies.language import cel
from policies.language.gpu_work import counted
from policies.language.manifest import at, items, mapping
from policies.language.pods import KUBEFLOW, Pod
from policies.language.pool_table import Malformed, cel_amount, total
from policies.language.rule import Kind, Manifest
from settings.names import GPU

KINDS: tuple[Kind, ...] = (
    ("", "pods"),
    ("", "replicationcontrollers"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
    ("batch.volcano.sh", "jobs"),
    *(("kubeflow.org", f"{kind.lower()}s") for kind in KUBEFLOW),
    ("kubeflow.org", "notebooks"),
    ("jobset.x-k8s.io", "jobsets"),
    ("leaderworkerset.x-k8s.io", "leaderworkersets"),
    ("ray.io", "rayclusters"),
    ("ray.io", "rayjobs"),
    ("ray.io", "rayservices"),
)
"""What says itself how many pods it has; a DaemonSet has one for each node."""

RAY = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}
"""Kinds of Ray's, each with the place of its cluster."""
_SERVICES = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
_Found = Iterator[tuple[int, object]]


def gpus(manifest: Manifest) -> list[tuple[int, Decimal]] | None:
    """How many pods of each sort an object has at once, and the GPUs of one; None where unknown."""
    found = []
    for many, template in _templates(manifest):
        size = _size(template)
        if size is None:
            return None
        found += [(many, size)] if many else []
    return found


def _templates(manifest: Manifest) -> _Found:
    """The templates of an object's pods, each with how many of it there are at once."""
    group = str(manifest.get("apiVersion")).rpartition("/")[0]
    kind, spec = str(manifest.get("kind")), at(manifest, "spec")
    if group == "" and kind == "Pod":
        yield 1, manifest
    elif group in ("", "apps") and kind in _SERVICES:
        yield number(at(spec, "replicas"), 1), at(spec, "template")
    elif group == "batch" and kind in ("Job", "CronJob"):
        yield _of_job(spec if kind == "Job" else at(spec, "jobTemplate", "spec"))
    elif group == "batch.volcano.sh" and kind == "Job":
        for task in items(at(spec, "tasks")):
            yield number(at(task, "replicas"), 1), at(task, "template")
    elif group == "kubeflow.org" and kind == "Notebook":
        yield 1, at(spec, "template")
    elif group == "kubeflow.org" and kind in KUBEFLOW:
        roles = mapping(at(spec, KUBEFLOW[kind]))
        for role in sorted(roles):
            yield number(at(roles[role], "replicas"), 1), at(roles[role], "template")
    elif group == "jobset.x-k8s.io" and kind == "JobSet":
        for each in items(at(spec, "replicatedJobs")):
            many, template = _of_job(at(each, "template", "spec"))
            yield number(at(each, "replicas"), 1) * many, template
    elif group == "leaderworkerset.x-k8s.io" and kind == "LeaderWorkerSet":
        yield from _of_groups(spec)
    elif group == "ray.io" and kind in RAY:
        yield from _of_ray(at(manifest, *RAY[kind]))


def _of_job(spec: object) -> tuple[int, object]:
    most, ends = number(at(spec, "parallelism"), 1), at(spec, "completions")
    return min(most, number(ends, most)), at(spec, "template")


def _of_groups(spec: object) -> _Found:
    groups, of_one = number(at(spec, "replicas"), 1), at(spec, "leaderWorkerTemplate")
    worker = at(of_one, "workerTemplate")
    leader = at(of_one, "leaderTemplate")
    yield groups, worker if leader is None else leader
    yield groups * (number(at(of_one, "size"), 1) - 1), worker


def _of_ray(cluster: object) -> _Found:
    yield 1, at(cluster, "headGroupSpec", "template")
    for group in items(at(cluster, "workerGroupSpecs")):
        many = max(number(at(group, name), 0) for name in ("replicas", "minReplicas"))
        yield many * number(at(group, "numOfHosts"), 1), at(group, "template")


def number(value: object, otherwise: int) -> int:
    """A number of pods as it is written; `otherwise` where there is none."""
    return otherwise if value is None else counted(value) or 0


def _size(template: object) -> Decimal | None:
    spec = mapping(at(template, "spec"))
    found = (*items(spec.get("initContainers")), *items(spec.get("containers")))
    pod = Pod(
        name="",
        labels={},
        annotations={},
        spec=spec,
        containers=tuple(map(mapping, found)),
    )
    try:
        return Decimal(total(pod, GPU))
    except Malformed:
        return None


def cel_number(optional: str, otherwise: str) -> str:
    """CEL: what an optional has as a double; null is as good as none."""
    return f"double({optional}.orValue(null) == null ? dyn({otherwise}) : {optional}.value())"


def _several(many: str, template: str) -> str:
    return f"{{'many': dyn({many}), 'template': dyn({template})}}"


def _job(spec: str) -> str:
    """CEL: how many pods the Job of a spec, an optional, has at once."""
    most = cel_number(f"{spec}.?parallelism", "1")
    ends = cel_number(f"{spec}.?completions", "1")
    return f"({spec}.?completions.orValue(null) == null ? {most} : [{most}, {ends}].min())"


def _group(group: str) -> str:
    return f"object.apiVersion.startsWith('{group}/')"


_SPEC = "dyn(object).?spec"
_OF_ONE = f"{_SPEC}.?leaderWorkerTemplate"
_GROUPS = cel_number(f"{_SPEC}.?replicas", "1")
_WORKER = f"{_OF_ONE}.?workerTemplate.orValue({{}})"
_LEADS = f"{_OF_ONE}.?leaderTemplate"
_LEADER = f"({_LEADS}.orValue(null) == null ? {_WORKER} : {_LEADS}.value())"
_FOLLOW = f"{_GROUPS} * ({cel_number(f'{_OF_ONE}.?size', '1')} - 1.0)"
_CLUSTER = (
    f"(object.kind == 'RayJob' ? {_SPEC}.?rayClusterSpec : "
    f"object.kind == 'RayService' ? {_SPEC}.?rayClusterConfig : {_SPEC})"
)
_HOSTS = cel_number("g.?numOfHosts", "1")
_WORKERS = (
    f"[{cel_number('g.?replicas', '0')}, {cel_number('g.?minReplicas', '0')}].max() * {_HOSTS}"
)
_JOB = "(object.kind == 'CronJob' ? dyn(object).?spec.?jobTemplate.?spec : dyn(object).?spec)"
_OF_SET = "r.?template.?spec"
_ROLE = "variables.roles[r].?template.orValue({})"
_FIRST, _CONTAINERS = (
    cel.listed("t.template.?spec", name) for name in ("initContainers", "containers")
)
_STAYS = "c.?restartPolicy.orValue('') == 'Always'"
_AMOUNT = cel_amount("c", f"'{GPU}'")
_EACH = (
    f"([({_CONTAINERS} + {_FIRST}.filter(c, {_STAYS})).map(c, {_AMOUNT}).sum()] + "
    f"{_FIRST}.filter(c, !({_STAYS})).map(c, {_AMOUNT})).max()"
)
_TASK = _several(cel_number("t.?replicas", "1"), "t.?template.orValue({})")
_GROUP = _several(_WORKERS, "g.?template.orValue({})")
_ONE_OF_SET = _several(
    f"{cel_number('r.?replicas', '1')} * {_job(_OF_SET)}",
    f"{_OF_SET}.?template.orValue({{}})",
)

VARIABLES: Mapping[str, str] = {
    "roles": cel.PODS["roles"],
    "several": (
        f"object.kind == 'Pod' ? [{_several('1.0', 'object')}] : "
        f"{_group('batch.volcano.sh')} ? {cel.listed(_SPEC, 'tasks')}.map(t, {_TASK}) : "
        f"{_group('kubeflow.org')} && object.kind != 'Notebook' ? variables.roles.map(r, "
        f"{_several(cel_number('variables.roles[r].?replicas', '1'), _ROLE)}) : "
        f"{_group('batch')} ? [{_several(_job(_JOB), f'{_JOB}.?template.orValue({{}})')}] : "
        f"{_group('jobset.x-k8s.io')} ? "
        f"{cel.listed(_SPEC, 'replicatedJobs')}.map(r, {_ONE_OF_SET}) : "
        f"{_group('leaderworkerset.x-k8s.io')} ? [{_several(_GROUPS, _LEADER)}, "
        f"{_several(_FOLLOW, _WORKER)}] : "
        f"{_group('ray.io')} ? "
        f"[{_several('1.0', f'{_CLUSTER}.?headGroupSpec.?template.orValue({{}})')}] + "
        f"{cel.listed(_CLUSTER, 'workerGroupSpecs')}.map(g, {_GROUP}) : "
        f"object.kind == 'PodGroup' ? [] : "
        f"[{_several(cel_number(f'{_SPEC}.?replicas', '1'), f'{_SPEC}.?template.orValue({{}})')}]"
    ),
    "made": (
        f"variables.several.map(t, {{'many': double(t.many), 'each': {_EACH}}})"
        ".filter(t, t.many > 0.0)"
    ),
}
"""Variables: `made`, the pods that an object has at once as `gpus` counts them."""
