"""Objects for the rules of NUMA: `(rule, what it is, object)`."""

from collections.abc import Iterator

from tests.support.admission.objects import (
    ANNOTATIONS,
    GPU,
    KINDS,
    LABELS,
    Object,
    container,
    gpus,
    limited,
    pod,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
QOS, SHAPE, PAGES = "numa/guaranteed-qos", "numa/admissible-shape", "numa/hugepages"
CUDA, MEMORY = "numa/cuda-version", "numa/gpu-memory"
LIMITS, MESH, LABELS_RULE = "numa/memory-limit", "numa/mesh-sidecar", "cost/labels"
PURPOSE, QUANTITIES = "numa/pod-purpose", "numa/quantities"
SERVE = {"fleet.gpu/pool": "serve"}

_WORDS = ("abc", "", "1_000", "0x10", "8Kb", "1e", "NaN", "--8", "8..0", "8K", "8ki", "Ei", "8 Gi")
_NO_QUANTITIES = (*_WORDS, "\N{FULLWIDTH DIGIT EIGHT}")
_BIG, _SMALL = "hugepages-1Gi", "hugepages-2Mi"
_BOTH = {GPU: 1, "cpu": "8", "memory": "64Gi"}


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for kind, made in KINDS.items():
        yield QOS, f"a {kind} with whole CPUs", made(template(gpus()))
    for cpu in (
        "8000m",
        8,
        "8e0",
        "0.8e1",
        "+8",
        "8.0",
        "8.",
        8.0,
        "10000000000000000",
        "1k",
        "-",
        "1e30",
        "9" * 40,
    ):
        yield QOS, f"{cpu!r} CPUs in a workflow", workflow(template(gpus(cpu=cpu)))
    for cpu in ("8000m", 8, "8.0", " 8 "):
        yield QOS, f"{cpu!r} CPUs in a Pod", pod(gpus(cpu=cpu))
    for memory in ("Gi", ".", "1e-30", "1e30", "9" * 40, 1e22, "+.5e3"):
        yield QOS, f"{memory!r} of memory in a workflow", workflow(template(gpus(memory=memory)))
    both = container(limits=_BOTH, requests={"cpu": "8000m", "memory": "65536Mi"})
    yield QOS, "requests that say the same otherwise", pod(both)
    for limit, request in (("1n", "0.1n"), ("8Ei", "9Ei"), ("-", "Gi"), ("1Gi", "1073741824")):
        same = container(limits={**_BOTH, "memory": limit}, requests={"memory": request})
        yield QOS, f"{request} of memory is {limit}", workflow(template(same))
    yield QOS, "a fraction of a CPU without GPUs", pod(limited(cpu="7.5"))
    yield QOS, "no GPU, asked for in so many words", pod(gpus(0, cpu="7.5"))
    yield QOS, "no GPU, in a workflow", workflow(template(gpus("0", cpu="7.5")))
    yield QOS, "a container without resources and without GPUs", pod(container())
    yield QOS, "a MIG device is no whole GPU", pod(limited(**{"nvidia.com/mig-1g.18gb": 1}))
    yield QOS, "an init container with limits", pod(gpus(), initContainers=[limited("first")])
    yield QOS, "a workflow without templates", _bare_workflow({})
    yield QOS, "a workflow of steps alone", _bare_workflow({"templates": [{"name": "all"}]})
    yield QOS, "a task without a template", _volcano_tasks({"name": "worker", "replicas": 1})
    yield QOS, "a template without metadata", _volcano_tasks(_without_metadata(gpus()))
    unicode = {**gpus(), "args": ["größe=8", "価格", "🚀"]}
    yield QOS, "arguments in every script", pod(unicode)
    yield from _good_shapes()
    yield from _good_workflows()


def _good_shapes() -> Iterator[Row]:
    """Huge pages count for themselves, not as memory, and init containers give theirs back."""
    every = gpus(4, cpu=108, memory="1041920Mi", **{_SMALL: "2Gi"})
    yield SHAPE, "all that a NUMA node has with its huge pages", pod(every, nodeSelector=SERVE)
    yield SHAPE, "huge pages of a NUMA node in a workflow", _paged("2048Mi")
    yield SHAPE, "huge pages of two NUMA nodes without GPUs", _paged("4Gi", 0)
    yield SHAPE, "no huge pages, in so many words", _paged("0")
    first = limited("first", **{_SMALL: "2Gi"})
    again = pod(gpus(**{_SMALL: "2Gi"}), initContainers=[first], nodeSelector=SERVE)
    yield SHAPE, "huge pages of an init container, given back", again
    whole = {"nodeSelector": {"fleet.gpu/pool": "dgx"}}
    yield SHAPE, "huge pages of a machine that aligns none", pod(gpus(**{_BIG: "64Gi"}), **whole)


def _good_workflows() -> Iterator[Row]:
    """What charts leave as null is as good as not there."""
    for field in ("initContainers", "sidecars", "nodeSelector", "metadata", "volumes"):
        yield QOS, f"no {field}, as a null", _stepped(gpus(), **{field: None})
    nothing = gpus()
    nothing["resources"]["requests"] = None
    yield QOS, "no requests, as a null", workflow(template(nothing))
    labelled = _stepped(gpus(), metadata={"labels": {"fleet.gpu/team": "desk"}})
    labelled["spec"]["podMetadata"] = {"labels": LABELS, "annotations": ANNOTATIONS}
    yield LABELS_RULE, "labels on all pods of a workflow", labelled
    yield CUDA, "a version as a number", _annotated("cuda", 12.8)
    yield MEMORY, "memory as a number", _annotated("gpu-memory", 1000)
    yield LIMITS, "no GPUs, in so many words", pod(container(limits={GPU: 0}))
    yield MESH, "no GPUs, in so many words", pod(limited(**{GPU: 0}), limited("istio-proxy"))
    for zero in ("0", 0):
        lone = container(limits={GPU: zero})
        yield LIMITS, f"{zero!r} GPUs in a workflow", workflow(template(lone))


def _bad_pods() -> Iterator[Row]:
    yield QOS, "in a ClusterWorkflowTemplate", _of_the_cluster(gpus(cpu="7.5"))
    eight = workflow(template(gpus(8)))
    eight["spec"]["nodeSelector"] = SERVE
    yield SHAPE, "GPUs on the pool of a workflow", eight
    beside = {**limited("beside", cpu=60), "restartPolicy": "Always"}
    together = pod(gpus(4, cpu=60), initContainers=[beside], nodeSelector=SERVE)
    yield SHAPE, "a sidecar that runs with the rest", together
    two_nodes = gpus(**{_SMALL: "4Gi"})
    yield SHAPE, "huge pages of two NUMA nodes", pod(two_nodes, nodeSelector=SERVE)
    yield SHAPE, "a huge page too much in a workflow", _paged("2050Mi")
    yield SHAPE, "huge pages of a size that is elsewhere", pod(_big("1Gi"), nodeSelector=SERVE)
    yield SHAPE, "huge pages that no pool has", workflow(template(_big("65Gi")))
    half = gpus(**{_SMALL: "1026Mi"}), limited("beside", **{_SMALL: "1026Mi"})
    yield SHAPE, "huge pages of two containers", volcano(template(*half, nodeSelector=SERVE))
    bare = {"fleet.gpu/pool": "bare"}
    yield SHAPE, "GPUs on a pool without any", pod(gpus(), nodeSelector=bare)
    both = {**SERVE, "fleet.gpu/purpose": "training"}
    yield PURPOSE, "a purpose that is selected alone", pod(gpus(), nodeSelector=both)
    odd = limited(**{"hugepages-512Mi": "1Gi"})
    yield PAGES, "pages of another size", pod(odd, nodeSelector=SERVE)
    yield MESH, "a revision of Istio", pod(gpus(), labels={"istio.io/rev": "stable"})


def _bad_quantities() -> Iterator[Row]:
    for cpu in _NO_QUANTITIES:
        yield QUANTITIES, f"{cpu!r} CPUs in a workflow", workflow(template(gpus(cpu=cpu)))
    yield QUANTITIES, "memory that is no quantity", workflow(template(gpus(memory="much")))
    yield QUANTITIES, "GPUs that are no quantity", workflow(template(gpus("many")))
    yield QUANTITIES, "a list of CPUs", workflow(template(gpus(cpu=[8])))
    yield QUANTITIES, "a yes for CPUs", workflow(template(gpus(cpu=True)))
    yield QUANTITIES, "huge pages that are no quantity", _paged("many")


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield from _bad_pods()
    yield from _bad_quantities()
    for kind, made in KINDS.items():
        yield QOS, f"a {kind} with half a CPU", made(template(gpus(cpu="7.5")))
    for cpu in ("7500m", "8001m", "0.5", "1e-1", ".5", "1u", 7.5):
        yield QOS, f"{cpu!r} CPUs in a workflow", workflow(template(gpus(cpu=cpu)))
    yield QOS, "limits without memory", pod(container(limits={GPU: 1, "cpu": "8"}))
    yield QOS, "limits without CPUs", volcano(template(container(limits={GPU: 1})))
    asked = container(limits=_BOTH, requests={"cpu": "4", "memory": "64Gi"})
    yield QOS, "fewer CPUs asked for than the limit", pod(asked)
    for limit, request in (("1n", "2e-9"), ("8Ei", "9e17"), ("8Ei", "1e30"), ("-", "1")):
        asked = container(limits={**_BOTH, "memory": limit}, requests={"memory": request})
        yield QOS, f"{request} of memory asked for of {limit}", workflow(template(asked))
    asked = container(limits=_BOTH, requests={"memory": "1Gi"})
    yield QOS, "less memory asked for than the limit", volcano(template(asked))
    yield QOS, "a second container without limits", pod(gpus(), container("second"))
    yield QOS, "an init container without limits", pod(gpus(), initContainers=[container("first")])
    sidecar = {**container("proxy"), "restartPolicy": "Always"}
    yield QOS, "a sidecar without limits", pod(gpus(), initContainers=[sidecar])
    yield QOS, "a sidecar of a workflow", workflow(template(gpus(), container("proxy")))
    yield QOS, "a script", _bare_workflow({"templates": [{"name": "s", "script": gpus(cpu="1.5")}]})
    several = {"containers": [gpus(), container("größe")]}
    yield QOS, "a container set", _bare_workflow({"templates": [{"containerSet": several}]})
    yield QOS, "GPUs asked for by request", workflow(template(_requested(cpu="7.5")))
    yield QOS, "a container without a name", workflow(template(_nameless(gpus(cpu="7.5"))))
    yield QOS, "a task without a name", _volcano_tasks({"template": template(gpus(cpu="7.5"))})


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    for kind in ("Pod", "Deployment", "Job", "CronJob", "Volcano's Job", "PyTorchJob"):
        yield QUANTITIES, f"'abc' CPUs in a {kind}", KINDS[kind](template(gpus(cpu="abc")))
    yield QUANTITIES, "GPUs that are no quantity in a Pod", pod(gpus("many"))


def _paged(amount: object, count: int = 1) -> Object:
    return workflow(template(gpus(count, **{_SMALL: amount}), nodeSelector=SERVE))


def _big(amount: object) -> Object:
    return gpus(**{_BIG: amount})


def _requested(**limits: object) -> Object:
    found = gpus(**limits)
    del found["resources"]["limits"][GPU]
    found["resources"]["requests"] = {GPU: 2}
    return found


def _nameless(found: Object) -> Object:
    return {key: value for key, value in found.items() if key != "name"}


def _stepped(found: Object, **fields: object) -> Object:
    made = workflow(template(found))
    made["spec"]["templates"][1].update(fields)
    return made


def _annotated(name: str, value: object) -> Object:
    return workflow(template(gpus(), annotations={f"fleet.gpu/{name}": value}))


def _of_the_cluster(found: Object) -> Object:
    return workflow(template(found), "ClusterWorkflowTemplate")


def _bare_workflow(spec: Object) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "train"},
        "spec": spec,
    }


def _volcano_tasks(task: Object) -> Object:
    found = volcano(template(container()))
    found["spec"]["tasks"] = [task]
    return found


def _without_metadata(found: Object) -> Object:
    return {"name": "worker", "replicas": 1, "template": {"spec": {"containers": [found]}}}
