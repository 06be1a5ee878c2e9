"""Objects for the rules of idle GPUs: `(rule, what it is, object)`."""

from collections.abc import Iterator

from tests.support.admission.objects import (
    GPU,
    LABELS,
    SERVICES,
    Object,
    gpus,
    job,
    kubeflow,
    limited,
    made,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
POOL = "idle/gpu-node-pool"


def node_pool(*requirements: Object, node: Object | None = None, **spec: object) -> Object:
    """A NodePool of GPU machines that keeps the rule; what is None is left out."""
    of_node: Object = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "burst"},
        "requirements": list(requirements or [_demand("In", "p5e.48xlarge")]),
        **(node or {}),
    }
    whole: Object = {
        "limits": {GPU: 16},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
        "template": {"spec": of_node},
        **spec,
    }
    return made(
        "karpenter.sh/v1",
        "NodePool",
        {key: value for key, value in whole.items() if value is not None},
    )


def _demand(operator: str, *values: str, key: str = "node.kubernetes.io/instance-type") -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


def _after(after: str, **more: object) -> Object:
    return {"consolidationPolicy": "WhenEmpty", "consolidateAfter": after, **more}


TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
CATEGORY = "karpenter.k8s.aws/instance-category"
MAKER = "karpenter.k8s.aws/instance-gpu-manufacturer"
COUNT = "karpenter.k8s.aws/instance-gpu-count"
_WORDS = ("sh", "-c")
ON_SPOT = {"nodeSelector": {"karpenter.sh/capacity-type": "spot"}}
_USES_ALL = (
    "\n".join(f"CUDA_VISIBLE_DEVICES={gpu} vllm serve m &" for gpu in range(8)),
    "torchrun --nproc-per-node=1 prepare.py && torchrun --nproc-per-node=8 train.py",
    "torchrun --nproc-per-node=8 train.py --tensor-parallel-size 2",
    "torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py",
    "vllm serve m --tensor-parallel-size 2 -dp 4",
    "vllm serve m --config /etc/vllm.yaml",
    "python train.py --num_processes=2 --process_id=0",
)
_USES_FEWER = ("vllm serve m -tp 4", "vllm serve a & vllm serve b")


def _runs(script: str, **fields: object) -> Object:
    return {**gpus(8), "command": [*_WORDS, script], **fields}


def _told(value: str) -> Object:
    """Eight GPUs whose torchrun the environment tells how many processes to start."""
    return _runs("torchrun t.py", env=[{"name": "PET_NPROC_PER_NODE", "value": value}])


def _pytorch(processes: object) -> Object:
    found = kubeflow("PyTorchJob", "pytorchReplicaSpecs")(template(_runs("torchrun t.py")))
    found["spec"]["nprocPerNode"] = processes
    return found


def _serves(*words: str) -> Object:
    image = f"docker.io/vllm/vllm-openai@sha256:{'d' * 64}"
    return {**gpus(8), "image": image, "args": ["--model", "m", *words]}


def _waits(*words: str) -> Object:
    found = SERVICES["Deployment"](template({**gpus(), "command": list(words)}))
    found["metadata"]["annotations"] = {"fleet.gpu/keep-warm-schedule": "mon-fri 08:00-18:00"}
    return found


def _tested(words: list[str]) -> Object:
    found = {**gpus(), "args": words}
    return {**found, "image": f"registry.k8s.io/e2e-test-images/agnhost@sha256:{'a' * 64}"}


def _scavenges(preemptable: str, **spec: object) -> Object:
    found = volcano(template(gpus()), 1, **spec)
    found["metadata"]["annotations"] = {"volcano.sh/preemptable": preemptable}
    return found


def _affine(operator: str, *values: str, key: str) -> Object:
    terms = [{"matchExpressions": [_demand(operator, *values, key=key)]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def _endless(**spec: object) -> Object:
    """The template of a pod with a GPU that nothing ends."""
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [gpus()], **spec}}


def _owned(found: Object) -> Object:
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "all", "uid": "1"}
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [owner]}}


def _pod_of(kind: str, container: Object, **spec: object) -> Object:
    """A pod as a controller of Kubernetes makes it, which puts only its template into it."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "all", "uid": "1"}
    found = made("v1", "Pod", {"containers": [container], **spec}, labels=LABELS)
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [owner]}}


def _flow(pod: Object, **spec: object) -> Object:
    found = workflow(pod)
    return {**found, "spec": {**found["spec"], **spec}}


def _by_default(seconds: int) -> Object:
    return _flow(_endless(), templateDefaults={"activeDeadlineSeconds": seconds})


def _notebook(hours: str) -> Object:
    """As Kubeflow takes it: labels and annotations are its own, as its template has no metadata."""
    says = {"fleet.gpu/time-to-live-hours": hours}
    spec = {"template": {"spec": {"containers": [limited(**{"nvidia.com/mig-1g.18gb": 1})]}}}
    return made("kubeflow.org/v1", "Notebook", spec, labels=LABELS, annotations=says)


def _good_work() -> Iterator[Row]:
    for script in _USES_ALL:
        yield "idle/launcher", script.split("\n")[0], workflow(template(_runs(script)))
    yield "idle/launcher", "told by its environment to use all", job(template(_told("8")))
    yield "idle/launcher", "told by the job to use all", _pytorch("8")
    yield "idle/launcher", "told to use what there is", _pytorch("auto")
    yield "idle/launcher", "the image of a server", job(template(_serves("--config=/m.yaml")))
    yield "idle/keep-warm", "agnhost at work", job(template(_tested(["netexec"])))
    yield "idle/keep-warm", "a script that waits at last", _waits("sh", "-c", "train; sleep inf")
    yield "idle/scavenger", "a job of the queue", _scavenges("true", queue="scavenger")
    yield "idle/scavenger", "a job of another queue", _scavenges("false", queue="research")
    owned = _affine("In", "dgx", key="fleet.gpu/pool")
    yield "idle/spot", "affinity to another pool", job(template(gpus(), **owned))
    untyped = _affine("DoesNotExist", key="karpenter.sh/capacity-type")
    yield "idle/spot", "nodes of no capacity type", job(template(gpus(), **untyped))
    yield "idle/job-deadline", "all templates of a workflow", _by_default(604_800)
    yield "idle/job-deadline", "a job that another made", _owned(job(template(gpus())))
    yield "idle/notebooks", "a day of work", _notebook("10")
    yield "cost/labels", "those of a notebook", _notebook("10")


def _bad_work() -> Iterator[Row]:
    for script in _USES_FEWER:
        yield "idle/launcher", script, workflow(template(_runs(script)))
    yield "idle/launcher", "told by its environment to use two", job(template(_told("2")))
    yield "idle/launcher", "told by the job to use one", _pytorch("1")
    yield "idle/launcher", "the image of a server that uses one", job(template(_serves()))
    pausing = {**gpus(), "command": ["sleep", "infinity"]}
    yield "idle/keep-warm", "a pod of a reserve, as it says", _pod_of("ReplicaSet", pausing)
    for words in (("sleep", "infinity"), ("sh", "-c", "tail -f /dev/null")):
        yield "idle/keep-warm", " ".join(words), _waits(*words)
    for given in (["pause"], []):
        yield "idle/keep-warm", f"agnhost with {given}", job(template(_tested(given)))
    yield "idle/scavenger", "a job of the queue that stays", _scavenges("no", queue="scavenger")
    by_class = {"priorityClassName": "scavenger"}
    yield "idle/scavenger", "a job that keeps its pods", _scavenges("false", **by_class)
    cheap = _affine("In", "dgx", "cheap", key="fleet.gpu/pool")
    yield "idle/spot", "affinity to a pool with spot machines", workflow(template(gpus(), **cheap))
    spot = template(gpus(), **ON_SPOT)
    yield "idle/spot", "a pod of a job", _pod_of("Job", gpus(), **ON_SPOT)
    of_service = _pod_of("ReplicaSet", gpus(), **ON_SPOT)
    yield "idle/spot", "a pod of a service, as it says", of_service
    yield "idle/spot", "all of a workflow", _flow(spot, podPriorityClassName="production")
    yield "idle/job-deadline", "templates of a workflow that last", _by_default(604_801)
    yield "idle/job-deadline", "a job of an unknown object", _owned(job(_endless()))
    yield "idle/notebooks", "more than a day of work", _notebook("11")
    nobodys = {**_notebook("10"), "metadata": {"name": "nobodys"}}
    yield "cost/labels", "a notebook of nobody", nobodys


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield from _good_work()
    yield POOL, "a bounded pool", node_pool()
    for after in ("0s", "15m", "900s", "14m59s"):
        yield POOL, f"consolidates after {after}", node_pool(disruption=_after(after))
    for limit in (0, "16", "1k"):
        yield POOL, f"a limit of {limit!r}", node_pool(limits={GPU: limit})
    for expiry in ("Never", "168h", "720h", "604800s", "167h60m"):
        yield POOL, f"expires after {expiry}", node_pool(node={"expireAfter": expiry})
    for family in ("m5.large", "g4ad.xlarge", "g6f.large", "c7i.xlarge"):
        pool = node_pool(_demand("In", family), limits=None, disruption=_after("Never"))
        yield POOL, f"{family} has no GPU that counts", pool
    none = node_pool(_demand("In", "0", key=COUNT), limits=None)
    yield POOL, "no GPUs, in so many words", none
    other = node_pool(_demand("NotIn", "p5.48xlarge"), limits=None, disruption=_after("Never"))
    yield POOL, "a family that is excluded names no GPUs", other
    scheduled = [{"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]
    budget = _after("5m", budgets=scheduled)
    yield POOL, "no disruption in working hours", node_pool(disruption=budget)
    drifted = _after("5m", budgets=[{"nodes": "0", "reasons": ["Drifted"]}])
    yield POOL, "a budget for another reason", node_pool(disruption=drifted)
    yield POOL, "Karpenter's own disruption", node_pool(disruption=None)


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield from _bad_work()
    yield POOL, "no limits", node_pool(limits=None)
    yield POOL, "limits on other things", node_pool(limits={"cpu": "192"})
    for after in ("Never", "15m1s", "16m", "1h", "901s"):
        yield POOL, f"consolidates after {after}", node_pool(disruption=_after(after))
    for expiry in ("167h", "1s", "167h59m59s"):
        yield POOL, f"expires after {expiry}", node_pool(node={"expireAfter": expiry})
    for nodes in ("0", "0%"):
        budget = _after("5m", budgets=[{"nodes": "10%"}, {"nodes": nodes}])
        yield POOL, f"a budget of {nodes} for good", node_pool(disruption=budget)
    empty = _after("5m", budgets=[{"nodes": "0", "reasons": ["Empty", "Drifted"]}])
    yield POOL, "a budget of 0 for empty nodes", node_pool(disruption=empty)
    for key in ("taints", "startupTaints"):
        pool = node_pool(_demand("In", "m5.large"), node={key: [TAINT]}, limits=None)
        yield POOL, f"GPUs by {key}", pool
    demands = {
        "category": _demand("In", "p", key=CATEGORY),
        "manufacturer": _demand("Exists", key=MAKER),
        "number": _demand("Gt", "0", key=COUNT),
        "family": _demand("In", "g6e", key="karpenter.k8s.aws/instance-family"),
        "hardware": _demand("In", "p5en.48xlarge", key="fleet.gpu/hardware"),
        "NVIDIA's label": _demand("In", "true", key="nvidia.com/gpu.present"),
    }
    for name, demand in demands.items():
        yield POOL, f"GPUs by {name}", node_pool(demand, limits=None)
    yield POOL, "a static pool", node_pool(replicas=2, limits={"nodes": "2"}, disruption=None)


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    yield POOL, "a limit in words", node_pool(limits={GPU: "many"})
    yield POOL, "a limit below none", node_pool(limits={GPU: -1})
    for after in ("1.5h", "soon", "900"):
        yield POOL, f"consolidates after {after}", node_pool(disruption=_after(after))
    yield POOL, "expires some day", node_pool(node={"expireAfter": "some day"})
