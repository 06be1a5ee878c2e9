"""Objects for the rules of what idles: `(rule, what it is, object)`."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from tests.support.admission.objects import (
    JOBS,
    KINDS,
    SERVICES,
    Object,
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
LAUNCHER, DEADLINE, LABELS = "idle/launcher", "idle/job-deadline", "cost/labels"
SETTINGS: Mapping[str, Mapping[str, object]] = {NOTEBOOK: {"max_hours": 10}}
SLICES: Object = {"nodeSelector": {"fleet.gpu/sharing": "time-slicing"}}
CHECKPOINT, PART = "fleet.gpu/checkpoint-seconds", "fleet.gpu/gpu-fraction"
LIFETIME = "fleet.gpu/time-to-live-hours"


def _running(*words: str, count: int = 8, **more: object) -> Object:
    return {**gpus(count), "command": list(words[:1]), "args": list(words[1:]), **more}


def _env(**variables: str) -> Object:
    return {"env": [{"name": name, "value": value} for name, value in variables.items()]}


def _notebook(found: Object, **spec: Any) -> Object:
    return made("kubeflow.org/v1", "Notebook", {"template": template(found, **spec)})


def _labelled(**labels: str) -> Object:
    found = template(gpus())
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


def _bare(**spec: Any) -> Object:
    found = template(gpus(), **spec)
    return {**found, "metadata": {"labels": found["metadata"]["labels"]}}


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield from chain(_good_jobs(), _good_pods(), _good_launchers())


def _good_jobs() -> Iterator[Row]:
    for name, of in JOBS.items():
        yield DEADLINE, f"a {name} with an idle deadline", of(template(gpus()))
    for name in ("Pod", "Volcano's Job", "Workflow", "WorkflowTemplate", "CronWorkflow"):
        limited_pod = _bare(activeDeadlineSeconds=604800)
        yield DEADLINE, f"a {name} with a wall-clock limit", JOBS[name](limited_pod)
    yield DEADLINE, "a Job with a limit of its own", job(_bare(), activeDeadlineSeconds=3600)
    yield DEADLINE, "a service", SERVICES["StatefulSet"](_bare())
    yield LABELS, "no GPUs", job({**template(limited()), "metadata": {}})


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


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield from chain(_bad_jobs(), _bad_pods(), _bad_notebooks(), _bad_launchers())


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


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    yield from ()
