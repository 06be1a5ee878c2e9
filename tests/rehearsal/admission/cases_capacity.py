"""Objects for the rules of what stands ready: `(rule, what it is, object)`."""

from collections.abc import Iterator
from itertools import chain

from tests.rehearsal.admission.cases_idle import node_pool
from tests.support.admission.objects import (
    JOBS,
    SERVICES,
    Object,
    container,
    gpus,
    job,
    made,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
SPOT, SCAVENGER = "idle/spot", "idle/scavenger"
FLOOR, WARM = "idle/pool-floor", "idle/keep-warm"
ASSEMBLY, BLOCK = "idle/gang-assembly", "cost/capacity-block"
ON_SPOT: Object = {"nodeSelector": {"karpenter.sh/capacity-type": "spot"}}
CHECKPOINT = "fleet.gpu/checkpoint-seconds"
WARM_SAYS = {
    "fleet.gpu/keep-warm-schedule": "mon-fri 08:00-18:00 Europe/Berlin",
    "fleet.gpu/keep-warm-usd-per-day": "500",
    "fleet.gpu/keep-warm-until": "2027-01-31",
}
FLOOR_SAYS = {
    "fleet.gpu/keep-warm-reason": "the launch of the desk",
    "fleet.gpu/keep-warm-until": "2027-01-31",
}
TRAINING = {"metadata": {"labels": {"fleet.gpu/purpose": "training"}}}


def _affine(operator: str, *values: str) -> Object:
    demand = {
        "key": "karpenter.sh/capacity-type",
        "operator": operator,
        "values": list(values),
    }
    required = {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"affinity": affinity}


def _training(after: str | None) -> Object:
    found = node_pool()
    found["spec"]["template"] = {**found["spec"]["template"], **TRAINING}
    policy = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": after}
    found["spec"]["disruption"] = policy
    if after is None:
        del found["spec"]["disruption"]
    return found


def _static(annotations: Object, replicas: int = 2) -> Object:
    found = node_pool(replicas=replicas, disruption=None, limits=None)
    found["metadata"]["annotations"] = annotations
    return found


def _reserved(annotations: Object) -> Object:
    machines = {"key": "node.kubernetes.io/instance-type", "values": ["p5en.48xlarge"]}
    capacity = {"key": "karpenter.sh/capacity-type", "values": ["spot", "reserved"]}
    found = node_pool(*({**each, "operator": "In"} for each in (machines, capacity)))
    found["metadata"]["annotations"] = annotations
    return found


def _buffer(annotations: Object, **more: object) -> Object:
    spec = {"podTemplateRef": {"name": "eight"}, "replicas": 2, **more}
    api = "autoscaling.x-k8s.io/v1beta1"
    return made(api, "CapacityBuffer", spec, annotations=annotations)


def _paused(annotations: Object, image: str = "registry.k8s.io/pause:3.10") -> Object:
    image += f"@sha256:{'b' * 64}" if "@" not in image else ""
    found = SERVICES["Deployment"](template({**gpus(), "image": image}))
    found["metadata"]["annotations"] = annotations
    return found


def _class(value: int, policy: str, name: str = "scavenger") -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def _queue(reclaimable: bool | None, name: str = "scavenger") -> Object:
    more = {} if reclaimable is None else {"reclaimable": reclaimable}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, **more},
    }


def _scavenging(annotations: Object, **labels: str) -> Object:
    found = template(gpus(), annotations=annotations, priorityClassName="scavenger")
    found["metadata"]["labels"] = {**found["metadata"]["labels"], **labels}
    return found


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield from chain(_good_pools(), _good_classes())


def _good_pools() -> Iterator[Row]:
    for after in ("5m", "10m", "300s"):
        yield ASSEMBLY, f"a training pool that waits {after}", _training(after)
    yield ASSEMBLY, "another pool", node_pool(disruption=None)


def _good_classes() -> Iterator[Row]:
    saving = {"annotations": {CHECKPOINT: "120"}, "terminationGracePeriodSeconds": 120}
    for name, of in JOBS.items():
        yield SPOT, f"a {name} with a checkpoint", of(template(gpus(), **saving, **ON_SPOT))  # type: ignore[arg-type]  # annotations and fields
    yield SPOT, "a service", SERVICES["Deployment"](template(gpus(), **ON_SPOT))
    yield (
        SPOT,
        "reserved machines of a pool with spot ones",
        job(
            template(
                gpus(),
                nodeSelector={"fleet.gpu/pool": "cheap", "karpenter.sh/capacity-type": "reserved"},
            )
        ),
    )
    yield SPOT, "anything but spot", job(template(gpus(), **_affine("NotIn", "spot")))
    yield SPOT, "affinity to the reserved", job(template(gpus(), **_affine("In", "reserved")))
    yield SPOT, "no choice", job(template(gpus()))
    yield SCAVENGER, "the class", _class(-1000, "Never")
    yield SCAVENGER, "another class", _class(5, "PreemptLowerPriority", "research-2")
    yield SCAVENGER, "the queue", _queue(None)
    yield SCAVENGER, "the queue, in so many words", _queue(True)
    yield SCAVENGER, "another queue", _queue(False, "burst")
    for name, of in JOBS.items():
        if name != "Pod":  # the API server asks for the class itself
            yield SCAVENGER, f"a {name}", of(_scavenging({"volcano.sh/preemptable": "true"}))
    yield FLOOR, "no floor", node_pool()
    yield BLOCK, "no reserved machines", node_pool()
    yield BLOCK, "a block with an end", _reserved({"fleet.gpu/reserved-until": "2027-01-31"})
    yield WARM, "a buffer", _buffer(WARM_SAYS)
    yield WARM, "a buffer of no pods", _buffer({}, replicas=0)
    yield WARM, "pods that pause", _paused(WARM_SAYS)
    yield WARM, "pods that work", _paused({}, f"pauses/train@sha256:{'b' * 64}")


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield from chain(_bad_pools(), _bad_on_spot(), _bad_classes())


def _bad_pools() -> Iterator[Row]:
    for after in ("4m", "299s", None):
        yield ASSEMBLY, f"a training pool that waits {after}", _training(after)


def _bad_on_spot() -> Iterator[Row]:
    for name, of in JOBS.items():
        yield SPOT, f"a {name} without a checkpoint", of(template(gpus(), **ON_SPOT))
    slow = template(
        gpus(), annotations={CHECKPOINT: "121"}, terminationGracePeriodSeconds=121, **ON_SPOT
    )
    yield SPOT, "a checkpoint that takes longer than the notice", job(slow)
    cheap: Object = {"nodeSelector": {"fleet.gpu/pool": "cheap"}}
    yield SPOT, "a pool with spot machines", volcano(template(gpus(), **cheap))
    yield SPOT, "affinity to any", workflow(template(gpus(), **_affine("In", "spot", "reserved")))
    yield (
        SPOT,
        "production",
        SERVICES["Deployment"](template(gpus(), priorityClassName="production", **ON_SPOT)),
    )
    saving = template(
        gpus(), annotations={CHECKPOINT: "9"}, terminationGracePeriodSeconds=9, **ON_SPOT
    )
    yield SPOT, "a gang of production", volcano(saving, priorityClassName="production")


def _bad_classes() -> Iterator[Row]:
    yield SCAVENGER, "a class above others", _class(0, "Never")
    yield SCAVENGER, "a class that evicts", _class(-5, "PreemptLowerPriority")
    yield SCAVENGER, "a queue that keeps", _queue(False)
    for name, of in JOBS.items():
        if name != "Pod":
            yield (
                SCAVENGER,
                f"a {name} that stays",
                of(_scavenging({"volcano.sh/preemptable": "no"})),
            )
    label = _scavenging({}, **{"volcano.sh/preemptable": "false"})
    yield SCAVENGER, "one that stays by its label", workflow(label)
    stays = _scavenging({"karpenter.sh/do-not-disrupt": "true"})
    yield SCAVENGER, "one that keeps its node", volcano(stays)
    by_job = template(gpus(), annotations={"karpenter.sh/do-not-disrupt": "true"})
    yield SCAVENGER, "by the class of the job", volcano(by_job, priorityClassName="scavenger")
    yield FLOOR, "two machines", _static({})
    yield BLOCK, "a block without an end", _reserved({})
    yield BLOCK, "a block until some day", _reserved({"fleet.gpu/reserved-until": "2027"})
    yield FLOOR, "no reason", _static({"fleet.gpu/keep-warm-until": "2027-01-31"})
    yield FLOOR, "some day", _static({**FLOOR_SAYS, "fleet.gpu/keep-warm-until": "2027-13-01"})
    for key in WARM_SAYS:
        some = {name: value for name, value in WARM_SAYS.items() if name != key}
        yield WARM, f"a buffer without {key}", _buffer(some)
    yield WARM, "a buffer of half of another", _buffer({}, replicas=0, percentage=50)
    yield WARM, "pods that pause for ever", _paused({})
    for when in ("weekdays", "mon-fri", "mon-fri 8-18", "mon-fri 08:00-25:00"):
        said = {**WARM_SAYS, "fleet.gpu/keep-warm-schedule": when}
        yield WARM, f"{when!r} as hours", _buffer(said)
    for usd in ("501", "0", "5e2"):
        said = {**WARM_SAYS, "fleet.gpu/keep-warm-usd-per-day": usd}
        yield WARM, f"{usd} USD", _buffer(said)
    both = template(gpus(), container("second"), **ON_SPOT)
    yield SPOT, "a second container without anything", workflow(both)


def malformed() -> Iterator[Row]:
    """Objects that nobody can read: none of these rules reads a quantity."""
    yield from ()
