"""Complete objects of every kind that makes pods, such as an API server takes."""

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
IMAGE = f"registry.fleet.example/train@sha256:{'a' * 64}"
LABELS = {
    "app": "train",
    **{f"fleet.gpu/{name}": "desk" for name in ("team", "cost-centre", "project", "experiment")},
    "fleet.gpu/branch": "main",
}
ANNOTATIONS = {"fleet.gpu/idle-deadline-minutes": "60"}
NAME = "train"
_AS_IT_IS: Object = {
    "cpu": "8",
    "memory": "64Gi",
}


def container(name: str = "main", **resources: Object) -> Object:
    """A container; `limits` and `requests` are its resources."""
    return {"name": name, "image": IMAGE, "resources": resources}


def limited(name: str = "main", /, **limits: object) -> Object:
    """A container with eight CPUs and memory; `limits` replace what they name."""
    return container(name, limits={**_AS_IT_IS, **limits})


def gpus(count: object = 1, name: str = "main", /, **limits: object) -> Object:
    """The same with GPUs."""
    return limited(name, **{GPU: count, **limits})


def made(api_version: str, kind: str, spec: object, **metadata: object) -> Object:
    """An object 'train'."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": NAME, **metadata},
        "spec": spec,
    }


def template(*containers: Object, annotations: Object | None = None, **spec: object) -> Object:
    """The template of a pod with these containers, and with further fields of its spec."""
    metadata = {"labels": {**LABELS}, "annotations": {**ANNOTATIONS, **(annotations or {})}}
    return {"metadata": metadata, "spec": {"containers": list(containers), **spec}}


def pod(*containers: Object, labels: Object | None = None, **spec: object) -> Object:
    """A bare Pod."""
    found = {"containers": list(containers), **spec}
    metadata = {"labels": {**LABELS, **(labels or {})}, "annotations": {**ANNOTATIONS}}
    return made("v1", "Pod", found, **metadata)


def _service(kind: str) -> Callable[[Object], Object]:
    spec = {"selector": {"matchLabels": LABELS}}
    if kind == "StatefulSet":
        spec["serviceName"] = NAME  # type: ignore[assignment]  # of a spec, not of a selector
    return lambda found: made("apps/v1", kind, {**spec, "template": found})


def job(found: Object, **spec: object) -> Object:
    """A Job of Kubernetes' own."""
    return made("batch/v1", "Job", {"template": _ending(found), **spec})


def _ending(found: Object) -> Object:
    return {**found, "spec": {"restartPolicy": "Never", **found["spec"]}}


def cron_job(found: Object, **spec: object) -> Object:
    """A CronJob."""
    inner = {"spec": {"template": _ending(found), **spec}}
    return made("batch/v1", "CronJob", {"schedule": "0 3 * * *", "jobTemplate": inner})


def volcano(found: Object, replicas: int = 1, **spec: object) -> Object:
    """A Job of Volcano with a task of its own beside the one that matters."""
    tasks = [
        {"name": "server", "replicas": 1, "template": template(container())},
        {"name": "worker", "replicas": replicas, "template": found},
    ]
    return made("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 1, "tasks": tasks, **spec})


def kubeflow(kind: str, field: str, version: str = "v1") -> Callable[[Object], Object]:
    """A training job of Kubeflow with a second role."""

    def of(found: Object) -> Object:
        other = {"replicas": 1, "template": template(container())}
        roles = {"Launcher": other, "Worker": {"replicas": 2, "template": found}}
        return made(f"kubeflow.org/{version}", kind, {field: roles})

    return of


def workflow(found: Object, kind: str = "Workflow") -> Object:
    """A Workflow of Argo: a step beside the one that makes the pod."""
    main, *sidecars = found["spec"]["containers"]
    rest = {key: value for key, value in found["spec"].items() if key != "containers"}
    step = {
        "name": "step",
        "metadata": found["metadata"],
        "container": main,
        "sidecars": sidecars,
        **rest,
    }
    steps = {"name": "all", "steps": [[{"name": "one", "template": "step"}]]}
    return made("argoproj.io/v1alpha1", kind, {"entrypoint": "all", "templates": [steps, step]})


def cron_workflow(found: Object) -> Object:
    """A CronWorkflow of Argo."""
    inner = workflow(found)["spec"]
    return made("argoproj.io/v1alpha1", "CronWorkflow", {"workflowSpec": inner})


def _pod(found: Object) -> Object:
    return made("v1", "Pod", found["spec"], **found["metadata"])


def _controller(found: Object) -> Object:
    return made("v1", "ReplicationController", {"selector": LABELS, "template": found})


SERVICES: dict[str, Callable[[Object], Object]] = {
    **{kind: _service(kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")},
    "ReplicationController": _controller,
}
JOBS: dict[str, Callable[[Object], Object]] = {
    "Pod": _pod,
    "Job": job,
    "CronJob": cron_job,
    "Volcano's Job": volcano,
    "PyTorchJob": kubeflow("PyTorchJob", "pytorchReplicaSpecs"),
    "TFJob": kubeflow("TFJob", "tfReplicaSpecs"),
    "MPIJob": kubeflow("MPIJob", "mpiReplicaSpecs", "v2beta1"),
    "XGBoostJob": kubeflow("XGBoostJob", "xgbReplicaSpecs"),
    "PaddleJob": kubeflow("PaddleJob", "paddleReplicaSpecs"),
    "JAXJob": kubeflow("JAXJob", "jaxReplicaSpecs"),
    "Workflow": workflow,
    "WorkflowTemplate": lambda found: workflow(found, "WorkflowTemplate"),
    "CronWorkflow": cron_workflow,
}
"""By kind: from a pod's template to an object that makes such pods."""
KINDS = {**SERVICES, **JOBS}
