"""Objects for the rules of what idles: `(rule, what it is, object)`."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from tests.rehearsal.admission.cases_idle import node_pool
from tests.rehearsal.admission.objects import (
    JOBS,
    KINDS,
    SERVICES,
    Object,
    container,
    cron_job,
    gpus,
    job,
    limited,
    made,
    pod,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
GRACE, FRACTION, NOTEBOOK = "idle/grace-period", "idle/fraction", "idle/notebooks"
LAUNCHER, SPOT, SCAVENGER = "idle/launcher", "idle/spot", "idle/scavenger"
FLOOR, WARM = "idle/pool-floor", "idle/keep-warm"
DEADLINE, LABELS, ASSEMBLY = "idle/job-deadline", "cost/labels", "idle/gang-assembly"
SETTINGS: Mapping[str, Mapping[str, object]] = {
    FRACTION: {"shared_pools": ["slices"]},
    NOTEBOOK: {"shared_pools": ["slices"], "max_hours": 10},
    SPOT: {"spot_pools": ["cheap", "burst"]},
}
SLICES: Object = {"nodeSelector": {"fleet.gpu/sharing": "time-slicing"}}
ON_SPOT: Object = {"nodeSelector": {"karpenter.sh/capacity-type": "spot"}}
CHECKPOINT, PART = "fleet.gpu/checkpoint-seconds", "fleet.gpu/gpu-fraction"
LIFETIME = "fleet.gpu/time-to-live-hours"
BLOCK = "cost/capacity-block"
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


def _running(*words: str, count: int = 8, **more: object) -> Object:
    return {**gpus(count), "command": list(words[:1]), "args": list(words[1:]), **more}


def _env(**variables: str) -> Object:
    return {"env": [{"name": name, "value": value} for name, value in variables.items()]}


def _affine(operator: str, *values: str) -> Object:
    demand = {
        "key": "karpenter.sh/capacity-type",
        "operator": operator,
        "values": list(values),
    }
    required = {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"affinity": affinity}


def _notebook(found: Object, **spec: Any) -> Object:
    return made("kubeflow.org/v1", "Notebook", {"template": template(found, **spec)})


def _labelled(**labels: str) -> Object:
    found = template(gpus())
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


def _bare(**spec: Any) -> Object:
    found = template(gpus(), **spec)
    return {**found, "metadata": {"labels": found["metadata"]["labels"]}}


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


def _buffer(annotations: Object) -> Object:
    spec = {"podTemplateRef": {"name": "eight"}, "replicas": 2}
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
    yield from chain(_good_jobs(), _good_pods(), _good_launchers(), _good_classes())


def _good_jobs() -> Iterator[Row]:
    for name, of in JOBS.items():
        yield DEADLINE, f"a {name} with an idle deadline", of(template(gpus()))
        yield DEADLINE, f"a {name} with a wall-clock limit", of(_bare(activeDeadlineSeconds=604800))
    yield DEADLINE, "a Job with a limit of its own", job(_bare(), activeDeadlineSeconds=3600)
    yield DEADLINE, "a service", SERVICES["StatefulSet"](_bare())
    yield LABELS, "no GPUs", job({**template(limited()), "metadata": {}})
    for after in ("5m", "10m", "300s"):
        yield ASSEMBLY, f"a training pool that waits {after}", _training(after)
    yield ASSEMBLY, "another pool", node_pool(disruption=None)


def _good_pods() -> Iterator[Row]:
    held = template(gpus(), annotations={CHECKPOINT: "90"}, terminationGracePeriodSeconds=90)
    for name, of in KINDS.items():
        yield GRACE, f"a {name} with as long as it needs", of(held)
    yield (
        GRACE,
        "half a minute by default",
        volcano(template(gpus(), annotations={CHECKPOINT: "30"})),
    )
    for part in ("0.25", "0.5", "0.0001"):
        sliced = template(gpus(), annotations={PART: part}, **SLICES)
        yield FRACTION, f"{part} of a time-slice", workflow(sliced)
    pool = {"nodeSelector": {"fleet.gpu/pool": "slices"}}
    yield FRACTION, "a shared pool", job(template(gpus(), annotations={PART: "0.25"}, **pool))
    instance = limited(**{"nvidia.com/mig-1g.18gb": 1})
    yield FRACTION, "an instance", job(template(instance, annotations={PART: "0.25"}))
    for part in ("0.51", "1", "1.0"):
        yield FRACTION, f"{part} of a GPU", job(template(gpus(), annotations={PART: part}))
    lab = {**gpus(), "command": ["jupyter", "lab"]}
    lasting: Object = {"activeDeadlineSeconds": 36000, **SLICES}
    yield NOTEBOOK, "a slice for ten hours", job(template(lab, **lasting))
    yield (
        NOTEBOOK,
        "Kubeflow's, with its life",
        made(
            "kubeflow.org/v1",
            "Notebook",
            {"template": template(lab, annotations={LIFETIME: "10"}, **SLICES)},
        ),
    )
    yield NOTEBOOK, "none, but a run of one", job(template(_running("papermill", "a.ipynb")))
    yield NOTEBOOK, "no GPUs", job(template({**limited(), "command": ["jupyter-lab"]}))


def _good_launchers() -> Iterator[Row]:
    for words in (
        ("torchrun", "--nproc-per-node=8", "train.py"),
        ("torchrun", "--nproc_per_node", "8", "train.py"),
        ("torchrun", "--nproc-per-node=gpu", "train.py"),
        ("accelerate", "launch", "--num_processes", "16", "train.py"),
        ("vllm", "serve", "m", "--tensor-parallel-size", "4", "--pipeline-parallel-size", "2"),
        ("python", "train.py"),
        ("python", "train.py", "--torchrunner"),
    ):
        yield LAUNCHER, " ".join(words), workflow(template(_running(*words)))
    told = _running("torchrun", "t.py", **_env(PET_NPROC_PER_NODE="8"))
    yield LAUNCHER, "told by its environment", job(template(told))
    yield LAUNCHER, "told by Kubeflow", JOBS["PyTorchJob"](template(_running("torchrun", "t.py")))
    yield LAUNCHER, "one GPU for one process", pod(_running("torchrun", "t.py", count=1))
    seen = _running("python", "t.py", **_env(CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7"))
    yield LAUNCHER, "all GPUs to be seen", pod(seen)
    yield LAUNCHER, "no GPUs", pod({**limited(), "command": ["torchrun", "t.py"]})


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
    yield WARM, "pods that pause", _paused(WARM_SAYS)
    yield WARM, "pods that work", _paused({}, f"pauses/train@sha256:{'b' * 64}")


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield from chain(
        _bad_jobs(), _bad_pods(), _bad_notebooks(), _bad_launchers(), _bad_on_spot(), _bad_classes()
    )


def _bad_jobs() -> Iterator[Row]:
    for name, of in JOBS.items():
        yield DEADLINE, f"a {name} without an end", of(_bare())
        yield DEADLINE, f"a {name} with a long one", of(_bare(activeDeadlineSeconds=604801))
    late = template(gpus(), annotations={"fleet.gpu/idle-deadline-minutes": "121"})
    yield DEADLINE, "an idle deadline of two hours and a bit", volcano(late)
    yield DEADLINE, "a Job's limit of years", cron_job(_bare())
    for name, of in JOBS.items():
        yield LABELS, f"a {name} without labels", of(_labelled(app="train"))
    service = SERVICES["Deployment"](_labelled(app="train"))
    service["spec"]["selector"] = {"matchLabels": {"app": "train"}}
    yield LABELS, "a Deployment without labels", service
    some = {f"fleet.gpu/{name}": "x" for name in ("team", "project", "branch")}
    yield LABELS, "some of the labels", workflow(_labelled(app="train", **some))
    node_class: Object = {
        "amiFamily": "Custom",
        "amiSelectorTerms": [{"id": "ami-0123456789abcdef0"}],
        "instanceProfile": "node",
        "subnetSelectorTerms": [{"tags": {"a": "b"}}],
        "securityGroupSelectorTerms": [{"tags": {"a": "b"}}],
    }
    yield LABELS, "a class without tags", made("karpenter.k8s.aws/v1", "EC2NodeClass", node_class)
    pooled = {**node_class, "tags": {"fleet.gpu/pool": "burst"}}
    yield LABELS, "a class with a pool", made("karpenter.k8s.aws/v1", "EC2NodeClass", pooled)
    for after in ("4m", "299s", None):
        yield ASSEMBLY, f"a training pool that waits {after}", _training(after)


def _bad_pods() -> Iterator[Row]:
    cut = template(gpus(), annotations={CHECKPOINT: "90"}, terminationGracePeriodSeconds=89)
    for name, of in KINDS.items():
        yield GRACE, f"a {name} that is cut off", of(cut)
    yield GRACE, "the default", volcano(template(gpus(), annotations={CHECKPOINT: "31"}))
    for said in ("0", "1m", "-5", "", "1.5", "٣"):
        strange = template(gpus(), annotations={CHECKPOINT: said})
        yield GRACE, f"{said!r} seconds", job(strange)
    for part in ("0.25", "0.5", "0.0001"):
        yield FRACTION, f"{part} of a GPU", workflow(template(gpus(), annotations={PART: part}))
    for part in ("0", "0.0", "2", "a quarter", "-0.5", "1/4", ".5", ""):
        strange = template(gpus(), annotations={PART: part}, **SLICES)
        yield FRACTION, f"{part!r} of a GPU", job(strange)


def _bad_notebooks() -> Iterator[Row]:
    lab = {**gpus(), "command": ["jupyter", "lab"]}
    short: Object = {"activeDeadlineSeconds": 36000}
    yield NOTEBOOK, "a whole GPU", job(template(lab, **short))
    yield NOTEBOOK, "for ever", job(template(lab, **SLICES))
    yield NOTEBOOK, "too long", job(template(lab, activeDeadlineSeconds=36001, **SLICES))
    yield NOTEBOOK, "Kubeflow's", _notebook(gpus())
    yield NOTEBOOK, "by its image", job(template({**gpus(), "image": f"jupyter/x:{'1' * 3}"}))
    yield NOTEBOOK, "by its label", pod(gpus(), labels={"component": "singleuser-server"})
    yield (
        NOTEBOOK,
        "in a shell",
        workflow(template(_running("sh", "-c", "exec code-server --port 80", count=1))),
    )


def _bad_launchers() -> Iterator[Row]:
    for words in (
        ("torchrun", "train.py"),
        ("python", "-m", "torch.distributed.run", "train.py"),
        ("sh", "-c", "torchrun\t--nproc_per_node 1 train.py"),
        ("torchrun", "--nproc-per-node=4", "train.py"),
        ("accelerate", "launch", "--num_processes=7", "train.py"),
        ("deepspeed", "--num_gpus", "2", "train.py"),
        ("vllm", "serve", "model"),
        ("vllm", "serve", "model", "--tensor-parallel-size=4"),
        ("sh", "-c", "CUDA_VISIBLE_DEVICES=0,1 python train.py"),
    ):
        yield LAUNCHER, " ".join(words), workflow(template(_running(*words)))
    for name, of in KINDS.items():
        if name != "PyTorchJob":
            yield LAUNCHER, f"a {name}", of(template(_running("torchrun", "train.py")))
    seen = _running("python", "t.py", **_env(CUDA_VISIBLE_DEVICES="0"))
    yield LAUNCHER, "one GPU to be seen", pod(seen)


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
    """Objects that nobody can read, and that both gates refuse."""
    yield LAUNCHER, "GPUs in words", workflow(template(_running("torchrun", "t.py", count="many")))  # type: ignore[arg-type]  # what is tested
