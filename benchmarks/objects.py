"""Kubernetes objects as teams send them: GPU jobs, gangs, services, node pools and plain ones.

They comply with the rules as far as a single object can, so that no rule ends early.
"""

from collections.abc import Callable, Mapping
from itertools import cycle, islice
from typing import Any

Manifest = dict[str, Any]
NAMESPACE = "research"
POOL = "dgx"
IMAGE = f"registry.example/team/train@sha256:{'0' * 64}"
WHO_PAYS = {
    f"fleet.gpu/{name}": value
    for name, value in {
        "team": "research",
        "cost-centre": "quant",
        "project": "alpha",
        "experiment": "baseline",
        "branch": "main",
        "purpose": "training",
    }.items()
}
GPU = "nvidia.com/gpu"
SHARE = {"cpu": "8", "memory": "64Gi", GPU: "1"}


def objects(count: int) -> list[Manifest]:
    """Return `count` objects of all kinds in turns; the first is the queue of the gangs."""
    queue = _object("scheduling.volcano.sh/v1beta1", "Queue", "research", namespace=None)
    queue["spec"] = {"capability": {GPU: "16"}, "weight": 4}  # as in dev
    made = (make(f"{make.__name__[1:]}-{number}") for number, make in enumerate(cycle(_KINDS)))
    return [queue, *islice(made, count - 1)]


def _object(version: str, kind: str, name: str, namespace: str | None = NAMESPACE) -> Manifest:
    metadata = {"name": name, "labels": dict(WHO_PAYS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _template(resources: Mapping[str, str], **spec: object) -> Manifest:
    container = {
        "name": "main",
        "image": IMAGE,
        "command": ["python", "-m", "train"],
        "env": [{"name": f"OPTION_{number}", "value": str(number)} for number in range(5)],
        "resources": {"requests": dict(resources), "limits": dict(resources)},
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    placed: Manifest = {"nodeSelector": {"fleet.gpu/pool": POOL}, "schedulerName": "volcano"}
    return {
        "metadata": {"labels": dict(WHO_PAYS)},
        "spec": {"containers": [container], **(placed if GPU in resources else {}), **spec},
    }


def _job(name: str) -> Manifest:
    template = _template(SHARE, restartPolicy="Never")
    spec = {"activeDeadlineSeconds": 3600, "backoffLimit": 0, "template": template}
    return {**_object("batch/v1", "Job", name), "spec": spec}


def _service_with_gpu(name: str) -> Manifest:
    app = {"matchLabels": {"app": name}}
    spec = {"replicas": 2, "selector": app, "template": _template(SHARE)}
    return {**_object("apps/v1", "Deployment", name), "spec": spec}


def _service(name: str) -> Manifest:
    app = {"matchLabels": {"app": name}}
    spec = {"replicas": 2, "selector": app, "template": _template({"cpu": "1", "memory": "1Gi"})}
    return {**_object("apps/v1", "Deployment", name), "spec": spec}


def _gang(name: str) -> Manifest:
    template = _template(SHARE, activeDeadlineSeconds=3600, restartPolicy="Never")
    tasks = [{"name": "worker", "replicas": 4, "template": template}]
    spec = {"queue": "research", "minAvailable": 4, "tasks": tasks}
    return {**_object("batch.volcano.sh/v1alpha1", "Job", name), "spec": spec}


def _config_map(name: str) -> Manifest:
    return {**_object("v1", "ConfigMap", name), "data": {"a": "1", "b": "2"}}


def _account(name: str) -> Manifest:
    return _object("v1", "ServiceAccount", name)


def _role(name: str) -> Manifest:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    return {**_object("rbac.authorization.k8s.io/v1", "Role", name), "rules": [rule]}


def _network_policy(name: str) -> Manifest:
    spec = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    return {**_object("networking.k8s.io/v1", "NetworkPolicy", name), "spec": spec}


def _node_pool(name: str) -> Manifest:
    requirement = {"operator": "In", "values": ["on-demand"]}
    taints = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
    template = {
        "requirements": [{"key": "karpenter.sh/capacity-type", **requirement}],
        "taints": taints,
        "expireAfter": "720h",
    }
    spec = {
        "limits": {GPU: "8"},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
        "template": {"metadata": {"labels": dict(WHO_PAYS)}, "spec": template},
    }
    return {**_object("karpenter.sh/v1", "NodePool", name, namespace=None), "spec": spec}


_KINDS: tuple[Callable[[str], Manifest], ...] = (
    *(_job, _config_map, _service_with_gpu, _account, _service, _config_map, _role),
    *(_gang, _network_policy, _node_pool),
)
