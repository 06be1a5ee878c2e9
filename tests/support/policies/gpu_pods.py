"""Objects that make pods, in every kind that the rules know, for the tests of the numa rules."""

from collections.abc import Callable
from typing import Any

from policies.language.facts import KEY, Pool
from policies.language.rule import Rule
from tests.support.rule_facts import of

GPU = "nvidia.com/gpu"
Object = dict[str, Any]


def container(name: str = "main", /, **fields: Any) -> Object:
    """A container; `limits` and `requests` go below its resources."""
    resources = {key: fields.pop(key) for key in ("limits", "requests") if key in fields}
    return {"name": name, "image": "x", **fields, **({"resources": resources} if resources else {})}


def gpu_container(name: str = "main", /, gpus: object = 1, **limits: object) -> Object:
    """A container with GPUs, eight whole CPUs and memory; `limits` replace what they name."""
    return container(name, limits={GPU: gpus, "cpu": 8, "memory": "64Gi", **limits})


def pod(*containers: Object, labels: Object | None = None, **spec: Any) -> Object:
    """A Pod 'p' of the containers, with further fields of its spec."""
    metadata = {"name": "p", **({"labels": labels} if labels else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(containers), **spec},
    }


def annotated(found: Object, annotations: Object) -> Object:
    """A Pod with annotations."""
    return {**found, "metadata": {**found["metadata"], "annotations": annotations}}


def _object(api_version: str, kind: str, spec: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "p"}, "spec": spec}


def _templated(api_version: str, kind: str) -> Callable[[Object], Object]:
    return lambda spec: _object(api_version, kind, {"template": {"spec": spec}})


def _cron(spec: Object) -> Object:
    template = {"jobTemplate": {"spec": {"template": {"spec": spec}}}}
    return _object("batch/v1", "CronJob", template)


def _volcano(spec: Object) -> Object:
    tasks = [{"name": "worker", "template": {"spec": spec}}]
    return _object("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks})


def _kubeflow(kind: str, field: str) -> Callable[[Object], Object]:
    return lambda spec: _object(
        "kubeflow.org/v1", kind, {field: {"Worker": {"template": {"spec": spec}}}}
    )


def _argo(spec: Object) -> Object:
    rest = {key: value for key, value in spec.items() if key != "containers"}
    main, *sidecars = spec["containers"]
    template = {"name": "step", "container": main, "sidecars": sidecars, **rest}
    return _object("argoproj.io/v1alpha1", "Workflow", {"templates": [template]})


def _argo_cron(spec: Object) -> Object:
    inner = _argo(spec)["spec"]
    return _object("argoproj.io/v1alpha1", "CronWorkflow", {"workflowSpec": inner})


KINDS: dict[str, Callable[[Object], Object]] = {
    "Pod": lambda spec: _object("v1", "Pod", spec),
    "Deployment": _templated("apps/v1", "Deployment"),
    "StatefulSet": _templated("apps/v1", "StatefulSet"),
    "DaemonSet": _templated("apps/v1", "DaemonSet"),
    "Job": _templated("batch/v1", "Job"),
    "CronJob": _cron,
    "Volcano Job": _volcano,
    "PyTorchJob": _kubeflow("PyTorchJob", "pytorchReplicaSpecs"),
    "MPIJob": _kubeflow("MPIJob", "mpiReplicaSpecs"),
    "Workflow": _argo,
    "CronWorkflow": _argo_cron,
}
"""By the kind's name: from a pod's spec to the object that makes such pods."""


def on(pool: str) -> Object:
    """The field of a pod's spec that selects a pool."""
    return {"nodeSelector": {"fleet.gpu/pool": pool}}


def told(rule: Rule, manifest: Object, *pools: Pool) -> list[str]:
    """What a rule says of an object in an environment with these pools."""
    assert rule.predicate is not None
    return rule.predicate(manifest, {**rule.defaults(), KEY: of(*pools)})
