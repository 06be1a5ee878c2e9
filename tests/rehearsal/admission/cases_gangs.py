"""Objects for the rule of gangs that fit their queue: `(rule, what it is, object)`."""

from collections.abc import Iterator
from typing import Any

from policies.language.pods import KUBEFLOW
from tests.support.admission.objects import GPU, JOBS, KINDS, Object, gpus, made, template, volcano

Row = tuple[str, str, Object]
GANG = "idle/gang-fits"
NETWORK = "numa/gang-network"
DGX: Object = {"nodeSelector": {"fleet.gpu/pool": "dgx"}}
CHEAP: Object = {"nodeSelector": {"fleet.gpu/pool": "cheap"}}
ETHER: Object = {"nodeSelector": {"fleet.gpu/pool": "ether"}}
_RAILS = {"rdma/rails": 1}
_TRAINING = {kind: JOBS[kind] for kind in KUBEFLOW}


def _group(count: object, queue: str = "research") -> Object:
    spec = {"minMember": 2, "queue": queue, "minResources": {GPU: count}}
    return made("scheduling.volcano.sh/v1beta1", "PodGroup", spec)


def _gang(count: int, **spec: object) -> Object:
    return volcano(template(gpus(8)), count, **{"queue": "research", **spec})


def _elastic(least: int) -> Object:
    """A gang that says in its tasks alone how many pods it starts with, each checked first."""
    found = volcano(_checked(), 9, queue="research")
    del found["spec"]["minAvailable"]
    found["spec"]["tasks"][1]["minAvailable"] = least
    return found


def _checked(**of_init: object) -> Object:
    return template(gpus(8), initContainers=[{**gpus(8, "check"), **of_init}])


def _training(
    count: object = 2,
    kind: str = "PyTorchJob",
    pod: Object | None = None,
    **policy: object,
) -> Object:
    """A training job of a launcher without GPUs and of workers; `policy` is of its scheduling."""
    found = _TRAINING[kind](pod or template(gpus(8)))
    (roles,) = found["spec"].values()
    roles["Worker"]["replicas"] = count
    if count is None:
        del roles["Worker"]["replicas"]
    found["spec"]["runPolicy"] = {"schedulingPolicy": {"queue": "research", **policy}}
    return found


def _unsaid(count: int) -> Object:
    """The same in the queue of its namespace, with nothing behind the names of the fields."""
    found = _training(count, queue=None, minAvailable=None, minResources=None)
    found["spec"]["pytorchReplicaSpecs"]["Launcher"]["replicas"] = None
    found["metadata"]["namespace"] = "desk"
    return found


def _spread(
    count: int = 2,
    *,
    per_pod: int = 8,
    asks: Object | None = None,
    queue: str = "research",
    **spec: Any,
) -> Object:
    """A gang on the machines of a pool."""
    pod = template(gpus(per_pod, "main", **(asks or {})), **spec)
    return volcano(pod, count, minAvailable=count + 1, queue=queue)


def _network() -> Iterator[Row]:
    """Gangs that use the network between the machines of their pool, or have none to use."""
    for name, found in {
        "that asks for the device": _spread(asks=_RAILS, **DGX),
        "on one machine": _spread(4, per_pod=2, **DGX),
        "that may run where no device is": _spread(),
        "in a queue of such a pool that asks": _spread(asks=_RAILS, queue="production"),
        "in such a queue, on another pool": _spread(queue="production", **CHEAP),
        "on RoCE, in the network of its pods": _spread(**ETHER),
        "on RoCE that asks": _spread(asks=_RAILS, hostNetwork=True, **ETHER),
    }.items():
        yield NETWORK, f"a gang {name}", found
    for kind in ("Pod", "Deployment", "Job"):
        yield NETWORK, f"a {kind}, which is no gang", KINDS[kind](_two())


def _slow() -> Iterator[Row]:
    yield NETWORK, "a gang on two machines", _spread(**DGX)
    yield NETWORK, "a gang in a queue of such a pool", _spread(queue="production")
    yield NETWORK, "a gang on RoCE in the host's network", _spread(hostNetwork=True, **ETHER)
    efa = {"vpc.amazonaws.com/efa": 1}
    yield NETWORK, "a gang with the device of another pool", _spread(asks=efa, **DGX)
    for kind in _TRAINING:
        yield NETWORK, f"training as {kind}, without the device", _training(2, kind, _two())


def _two() -> Object:
    return template(gpus(8), **DGX)


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield from _network()
    for name, found in {
        "as large as the queue": _gang(2),
        "with fewer to start with": _gang(3, minAvailable=2),
        "in a larger queue": _gang(3, minAvailable=4, queue="production"),
        "in an unknown queue": _gang(99, minAvailable=100, queue="other"),
        "as a group": _group("16"),
        "as a group elsewhere": _group("99", "other"),
        "that is elastic": _elastic(2),
    }.items():
        yield GANG, f"a gang {name}", found
    for kind in _TRAINING:
        yield GANG, f"training as {kind}, as large as the queue", _training(kind=kind)
    for name, found in {
        "with fewer to start with": _training(9, minAvailable=2),
        "that starts with what there is": _training(9, minAvailable=0),
        "in a larger queue": _training(8, queue="production"),
        "in an unknown queue": _training(99, queue="other"),
        "in the queue of its namespace": _training(99, queue="default"),
        "that leaves its policy empty": _unsaid(125),
        "of one": _training(None, minResources={GPU: "16", "cpu": 1}),
        "without a policy": _TRAINING["PyTorchJob"](template(gpus(8))),
        "of pods that are checked first": _training(pod=_checked()),
    }.items():
        yield GANG, f"training {name}", found


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield from _slow()
    for name, found in {
        "of all its pods": _gang(3, minAvailable=4),
        "of nearly all": _gang(4, minAvailable=4),
        "as a group": _group("17"),
        "of a huge number": _gang(100000, minAvailable=100001),
        "that is elastic and needs more": _elastic(3),
    }.items():
        yield GANG, f"a gang {name}", found
    for kind in _TRAINING:
        yield GANG, f"training as {kind}, larger than the queue", _training(3, kind)
    for name, found in {
        "of nearly all": _training(4, minAvailable=4),
        "of pods that are checked first": _training(3, pod=_checked()),
        "of pods with a sidecar": _training(2, pod=_checked(restartPolicy="Always")),
        "of more than its pods": _training(1, minResources={GPU: "17"}),
        "of less than its pods": _training(3, minResources={GPU: 8}),
        "that leaves its policy empty": _unsaid(126),
        "for another scheduler": _training(3, pod=template(gpus(8), schedulerName="other")),
    }.items():
        yield GANG, f"training {name}", found


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    yield from ()
