"""A cluster of two teams: a Deployment with two pods, a bare pod, two DGX."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.admission.objects import KINDS, gpus, pod, template
from tests.support.recorded_cluster import Object, RecordedCluster

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STARTED = "2026-11-21T02:00:00Z"  # ten hours before
DGX = {"fleet.gpu/hardware": "dgx-h200", "fleet.gpu/pool": "dgx"}


def named(found: Object, name: str, namespace: str | None = "research", **metadata: Any) -> Object:
    where = {"namespace": namespace} if namespace else {}
    return {**found, "metadata": {**found["metadata"], "name": name, **where, **metadata}}


def owned(found: Object, owner: Object, *, controller: bool = True) -> Object:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": controller,
    }
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [reference]}}


def running(found: Object, node: str = "dgx-01", phase: str = "Running") -> Object:
    status = {"phase": phase, "startTime": STARTED}
    return {**found, "spec": {**found["spec"], "nodeName": node}, "status": status}


def node(name: str, labels: Object, **capacity: str) -> Object:
    plain = {key.replace("_", "."): value for key, value in capacity.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": plain or {"nvidia.com/gpu": "8"}},
    }


def namespace(name: str, team: str) -> Object:
    labels = {"fleet.gpu/team": team}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def bare(name: str, count: int = 4, **spec: Any) -> Object:
    """A pod that waits for nothing and breaks the rule on deadlines, with GPUs."""
    found = named(pod(gpus(count), **spec), name)
    del found["metadata"]["annotations"]
    return found


def service(name: str, replicas: int = 2, **limits: Any) -> Object:
    found = named(KINDS["Deployment"](template(gpus(1, **limits))), name)
    return {**found, "spec": {**found["spec"], "replicas": replicas}}


@pytest.fixture
def cluster() -> RecordedCluster:
    found = RecordedCluster()
    found.serve("v1", "namespaces", "Namespace", namespace("research", "quant"))
    found.serve("v1", "nodes", "Node", node("dgx-01", DGX), node("unknown", {}))
    found.serve("v1", "secrets", "Secret", {"metadata": {"name": "s", "namespace": "research"}})
    found.serve("v1", "pods", "Pod")
    return found


def deploy(cluster: RecordedCluster, found: Object, pods: int, **of_pod: Any) -> None:
    """Serve a Deployment with its ReplicaSet and pods, as its controllers make them."""
    (*_, deployment) = cluster.serve("apps/v1", "deployments", "Deployment", found)
    name = found["metadata"]["name"]
    as_set = {**named(found, f"{name}-1"), "kind": "ReplicaSet"}
    (*_, made) = cluster.serve("apps/v1", "replicasets", "ReplicaSet", owned(as_set, deployment))
    for number in range(pods):
        inside = found["spec"]["template"]
        one = named({**inside, "apiVersion": "v1", "kind": "Pod"}, f"{name}-1-{number}")
        one = {**one, "spec": {**one["spec"], **of_pod}}
        cluster.serve("v1", "pods", "Pod", owned(running(one), made))
