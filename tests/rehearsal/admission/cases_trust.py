"""Pods that say who owns them, in requests of nobody whose word counts: `(rule, what, object)`."""

from collections.abc import Iterator

from tests.support.admission.objects import Object, gpus, pod

Row = tuple[str, str, Object]
DEADLINE, WARM, SPOT = "idle/job-deadline", "idle/keep-warm", "idle/spot"
OWNERS = (
    ("v1", "ConfigMap", "kube-root-ca.crt"),
    ("apps/v1", "ReplicaSet", "train-5d4f8"),
    ("apps/v1", "StatefulSet", "train"),
    ("batch/v1", "Job", "train"),
    ("example.com/v1", "Deployment", "legacy"),
    ("ray.io/v1", "RayCluster", "train"),
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication", "train"),
)


def owned(kind: tuple[str, str, str], found: Object, *, controller: bool = True) -> Object:
    """An object that says that another one owns it."""
    version, owner, name = kind
    reference = {"apiVersion": version, "kind": owner, "name": name, "uid": "1"}
    said = {**reference, "controller": True} if controller else reference
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [said]}}


def endless(**fields: object) -> Object:
    """A Pod with GPUs that nothing ends."""
    found = pod({**gpus(), **fields})
    metadata = {key: value for key, value in found["metadata"].items() if key != "annotations"}
    return {**found, "metadata": metadata}


def good() -> Iterator[Row]:
    """Objects that keep their rule whoever owns them."""
    for kind in OWNERS:
        yield DEADLINE, f"a Pod of {kind[1]} {kind[2]} with an end", owned(kind, pod(gpus()))


def bad() -> Iterator[Row]:
    """Objects that keep their rule only if somebody takes their word."""
    waits = {"command": ["sleep", "infinity"]}
    for kind in OWNERS:
        yield DEADLINE, f"a Pod of {kind[1]} {kind[2]}", owned(kind, endless())
        yield WARM, f"a Pod of {kind[1]} {kind[2]} that waits", owned(kind, endless(**waits))
    some = OWNERS[0]
    yield DEADLINE, "a Pod that nobody controls", owned(some, endless(), controller=False)
    spot = endless()
    spot["spec"]["nodeSelector"] = {"karpenter.sh/capacity-type": "spot"}
    yield SPOT, "a Pod that says it is of a service", owned(OWNERS[1], spot)


def malformed() -> Iterator[Row]:
    """No such object here."""
    yield from ()
