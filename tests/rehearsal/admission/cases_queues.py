"""Objects for the rules of queues, of which most stand in a queue's namespace."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.rehearsal.admission.cases_ends import at_night
from tests.support.admission.objects import (
    GPU,
    JOBS,
    KINDS,
    SERVICES,
    Object,
    cron_job,
    gpus,
    job,
    limited,
    made,
    template,
    volcano,
    workflow,
)
from tests.support.admission.server import NAMESPACE

Row = tuple[str, str, Object]
SIZE, PRIORITY = "idle/queue-size", "idle/queue-priority"
OUTSIDE, FITS = "idle/outside-queues", "idle/gang-fits"
SETTINGS: Mapping[str, Mapping[str, object]] = {OUTSIDE: {"namespaces": [NAMESPACE]}}
"""The other tables' objects stand in that namespace."""
SYSTEM = ("system-node-critical", "system-cluster-critical")


def _in(found: Object, space: str = "research") -> Object:
    return {**found, "metadata": {**found["metadata"], "namespace": space}}


def _pod(count: int = 8, **spec: Any) -> Object:
    return template(gpus(count), **{"schedulerName": "volcano", **spec})


def _sized(kind: str, many: object, count: int = 8) -> Object:
    found = KINDS[kind](_pod(count))
    if many is not None:
        found["spec"]["replicas"] = many
    return _in(found)


def _gang(workers: int, least: int = 1) -> Object:
    return _in(volcano(_pod(), workers, minAvailable=least))


def _job_set(sets: int, **spec: object) -> Object:
    inner = job(_pod(), **spec)["spec"]
    each = {"name": "w", "replicas": sets, "template": {"spec": inner}}
    return _in(made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [each]}))


def _groups(many: object, size: object, leader: Object | None = None) -> Object:
    one = {"size": size, "workerTemplate": _pod()}
    one |= {} if leader is None else {"leaderTemplate": leader}
    spec = {"replicas": many, "leaderWorkerTemplate": one}
    return _in(made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec))


def _ray(kind: str = "RayCluster", **workers: object) -> Object:
    group = {"groupName": "w", "template": _pod(), **workers}
    cluster = {"headGroupSpec": {"template": template(limited())}, "workerGroupSpecs": [group]}
    field = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}.get(kind)
    return _in(made("ray.io/v1", kind, cluster if field is None else {field: cluster}))


def _training(workers: int, least: int) -> Object:
    found = JOBS["PyTorchJob"](_pod())
    found["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = workers
    found["spec"]["runPolicy"] = {"schedulingPolicy": {"minAvailable": least}}
    return _in(found)


def _sizes() -> Iterator[tuple[str, Object, Object]]:
    """What it is, an object as large as the queue, and one that is larger."""
    for kind in SERVICES:
        if kind != "DaemonSet":
            yield f"{kind} of replicas", _sized(kind, 2), _sized(kind, 3)
    yield "Deployment of one", _sized("Deployment", None, 16), _sized("Deployment", None, 17)
    yield "Deployment of none", _sized("Deployment", 0, 64), _sized("Deployment", 500)
    yield "Pod of its own", _sized("Pod", None, 16), _sized("Pod", None, 17)
    yield "Job in parallel", _in(job(_pod(), parallelism=2)), _in(job(_pod(), parallelism=5000))
    yield (
        "indexed Job",
        _in(job(_pod(), parallelism=64, completions=2, completionMode="Indexed")),
        _in(job(_pod(), parallelism=3, completions=64, completionMode="Indexed")),
    )
    yield (
        "CronJob in parallel",
        _in(cron_job(_pod(), parallelism=2)),
        _in(cron_job(_pod(), parallelism=3)),
    )
    yield "gang that starts with one", _gang(2), _gang(64)
    yield "gang of each night", _in(at_night(_gang(2))), _in(at_night(_gang(64)))
    yield "training that starts with one", _training(2, 1), _training(64, 1)
    yield "JobSet", _job_set(2), _job_set(3)
    yield "JobSet in parallel", _job_set(1, parallelism=2), _job_set(2, parallelism=2)
    yield "group of a leader", _groups(1, 2), _groups(2, 2)
    yield "group with a leader of its own", _groups(1, 3, template(limited())), _groups(1, 4)
    yield "RayCluster", _ray(replicas=2), _ray(replicas=3)
    yield "RayCluster that grows", _ray(minReplicas=2), _ray(replicas=1, minReplicas=3)
    yield (
        "RayCluster of several hosts",
        _ray(replicas=1, numOfHosts=2),
        _ray(replicas=1, numOfHosts=3),
    )
    for kind in ("RayJob", "RayService"):
        yield kind, _ray(kind, replicas=2), _ray(kind, replicas=3)


def _larger(found: Object) -> Object:
    return {**found, "metadata": {**found["metadata"], "namespace": "desk"}}


def _urgent(kind: str, name: object) -> Object:
    return _in(KINDS[kind](_pod(1, priorityClassName=name)))


def _kept(found: Object, value: str = "false", marks: str = "annotations") -> Object:
    """An object with the mark by which Volcano leaves its pods alone."""
    metadata = found["metadata"]
    marked = {**metadata.get(marks, {}), "volcano.sh/preemptable": value}
    return {**found, "metadata": {**metadata, marks: marked}}


def _labelled(kind: str, name: str) -> Object:
    found = _ray(kind, replicas=1)
    labels = {"ray.io/priority-class-name": name}
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


def _nightly(**spec: Any) -> Object:
    return _in(at_night(volcano(_pod(), **spec)))


def _group(content: Object) -> Object:
    found = made("scheduling.volcano.sh/v1beta1", "PodGroup", {"minMember": 1, **content})
    return _in(found)


def _queue(name: str = "research", **spec: object) -> Object:
    own = {"weight": 4, "capability": {GPU: "16"}, **spec}
    found = made("scheduling.volcano.sh/v1beta1", "Queue", own)
    return {**found, "metadata": {"name": name}}


def _unscheduled(kind: str, **spec: Any) -> Object:
    return _in(KINDS[kind](template(gpus(), **spec)))


def _nodes(count: object, space: str = "research") -> Object:
    trainer = {"numNodes": 2, "resourcesPerNode": {"limits": {GPU: count, "cpu": "8"}}}
    # the API server sees GPUs for nodes in the pods alone, and so no job without a limit here
    spec = {"trainer": trainer, "activeDeadlineSeconds": 3600}
    found = made("trainer.kubeflow.org/v1alpha1", "TrainJob", spec)
    return _in(found, space)


_PLAIN = ("Pod", "Deployment", "StatefulSet", "Job", "CronJob", "Workflow")


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for name, fits, beyond in _sizes():
        yield SIZE, f"a {name}, as large as the queue", fits
        yield SIZE, f"a {name}, in a larger queue", _larger(beyond)
    yield SIZE, "a gang that cannot start at all", _gang(3, least=4)
    for kind in _PLAIN:
        yield PRIORITY, f"a {kind} of a class of its queue", _urgent(kind, "interactive")
    yield PRIORITY, "a pod of no class", _in(KINDS["Pod"](_pod()))
    yield PRIORITY, "a pod in a queue without classes that has none", _larger(KINDS["Pod"](_pod()))
    yield (
        PRIORITY,
        "a pod of any class in no queue, in the system's namespace",
        _in(KINDS["Pod"](_pod(priorityClassName=SYSTEM[0])), "kube-system"),
    )
    yield PRIORITY, "a group of a class of its queue", _group({"priorityClassName": "research"})
    yield PRIORITY, "a group of no class", _group({})
    yield PRIORITY, "a group that gives back", _kept(_group({}), "true")
    yield PRIORITY, "a pod that gives back", _in(_kept(KINDS["Pod"](_pod()), "true"))
    yield PRIORITY, "a pod that stays on what is rented", _larger(_kept(KINDS["Pod"](_pod())))
    yield PRIORITY, "a pod that stays without GPUs", _in(_kept(KINDS["Pod"](template(limited()))))
    given = volcano(_kept(_pod(), marks="labels"))
    yield PRIORITY, "pods of Volcano that give back", _in(_kept(given, "true", "labels"))
    yield PRIORITY, "a cluster of Ray of a class of its queue", _labelled("RayCluster", "research")
    yield PRIORITY, "a night of a class of its queue", _nightly(priorityClassName="research")
    for kind in _PLAIN:
        yield OUTSIDE, f"a {kind} in a queue", _unscheduled(kind)
    yield OUTSIDE, "GPUs for the nodes of a TrainJob in a queue", _nodes("8")
    yield OUTSIDE, "a TrainJob of CPUs", _nodes(0, "kube-public")
    yield OUTSIDE, "a pod without GPUs", _in(KINDS["Pod"](template(limited())), "kube-public")
    yield OUTSIDE, "a pod of the cluster's own", _in(KINDS["Pod"](template(gpus())), "kube-system")
    yield FITS, "a group of one that does not say what it asks for", _group({})
    yield FITS, "a group of CPUs", _group({"minMember": 64, "minResources": {"cpu": "64"}})
    yield FITS, "a queue as its settings say", _queue()
    yield FITS, "a smaller queue", _queue(capability={GPU: 8}, deserved={GPU: "8"})
    yield FITS, "a queue with an empty guarantee", _queue(guarantee={}, priority=0)
    yield FITS, "a queue of another program", _queue("other", weight=99, capability={GPU: "512"})


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    for name, _, beyond in _sizes():
        yield SIZE, f"a {name}, larger than the queue", beyond
    for kind in _PLAIN:
        yield PRIORITY, f"a {kind} of production", _urgent(kind, "production")
    for name in SYSTEM:
        yield PRIORITY, f"a pod of {name}", _urgent("Pod", name)
    for marks in ("annotations", "labels"):
        pod, gang = KINDS["Pod"](_pod()), volcano(_kept(_pod(), "true", marks))
        yield PRIORITY, f"a pod that stays by its {marks}", _in(_kept(pod, marks=marks))
        yield PRIORITY, f"a gang that stays by its {marks}", _in(_kept(gang, marks=marks))
        yield PRIORITY, f"a group that stays by its {marks}", _kept(_group({}), marks=marks)
    deployed = KINDS["Deployment"](_kept(_pod(), "no"))
    yield PRIORITY, "a Deployment that stays by no word of Go's", _in(deployed)
    for kind in ("RayCluster", "RayJob"):
        yield PRIORITY, f"pods of {kind} of production", _labelled(kind, "production")
    yield PRIORITY, "a night of production", _nightly(priorityClassName="production")
    yield PRIORITY, "a group of production", _group({"priorityClassName": "production"})
    yield (
        PRIORITY,
        "a job of Volcano of production",
        _in(volcano(_pod(), priorityClassName="production")),
    )
    yield (
        PRIORITY,
        "a pod of any class in a queue without classes",
        _larger(_urgent("Pod", "research")),
    )
    unbound = workflow(_pod())
    unbound["spec"]["podPriorityClassName"] = "production"
    yield PRIORITY, "a workflow that gives its pods production", _in(unbound)
    for kind in _PLAIN:
        yield OUTSIDE, f"a {kind} elsewhere", _in(KINDS[kind](_pod()), "kube-public")
    yield OUTSIDE, "GPUs for the nodes of a TrainJob", _nodes("8", "kube-public")
    yield FITS, "a group that does not say what it asks for", _group({"minMember": 64})
    yield FITS, "a group that says nothing", _group({"minMember": 64, "minResources": {}})
    asked = {"requests.nvidia.com/gpu": "17"}
    yield (
        FITS,
        "a group that asks as a quota counts",
        _group({"minMember": 2, "minResources": asked}),
    )
    yield FITS, "a queue that is larger than its settings", _queue(capability={GPU: "512"})
    yield FITS, "a queue without a bound", _queue(capability={"cpu": "64"})
    yield FITS, "a queue that takes back more", _queue(deserved={GPU: 17})
    yield FITS, "a queue of another weight", _queue(weight=400)
    yield FITS, "a queue that keeps machines", _queue(guarantee={"resource": {GPU: "8"}})
    yield FITS, "a queue that goes first", _queue(priority=100)


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    yield from ()
