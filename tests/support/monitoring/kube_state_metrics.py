"""Nodes and pods as kube-state-metrics 2.20 shows them (internal/store/pod.go and node.go)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from components.platform.monitoring.promql import sanitised, shown
from tests.support.monitoring.exporters import Series, Value, steady

_KSM = {
    "job": "kube-state-metrics",
    "instance": "10.244.3.7:8080",
    "service": "kube-prometheus-stack-kube-state-metrics",
    "endpoint": "http",
}


def _object(name: str, labels: Mapping[str, str], samples: tuple[Value, ...]) -> Series:
    # this monitor honours the exporter's labels, so nothing is renamed
    return Series(name=name, labels={**_KSM, **labels}, samples=samples)


def _of_length(samples: tuple[Value, ...], value: float) -> tuple[Value, ...]:
    return tuple(each if isinstance(each, str) else value for each in samples)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of a pool, `capacity` as its kubelet reports it."""

    name: str
    pool: str = "dgx"
    capacity: Mapping[str, int]
    sharing: str = ""
    ready: bool = True
    there: tuple[Value, ...] = steady(1)

    def series(self) -> Iterator[Series]:
        """What kube-state-metrics says of the node."""
        labels = {"fleet.gpu/pool": self.pool, "fleet.gpu/sharing": self.sharing}
        seen = {shown(label): value for label, value in labels.items() if value}
        target = {"namespace": "monitoring", "pod": "kube-prometheus-stack-kube-state-metrics-0"}
        node = {"node": self.name, **target}
        yield _object("kube_node_labels", {**node, **seen}, self.there)
        for status in ("true", "false", "unknown"):
            holds = (status == "true") == self.ready and status != "unknown"
            yield _object(
                "kube_node_status_condition",
                {**node, "condition": "Ready", "status": status},
                _of_length(self.there, float(holds)),
            )
        for resource, amount in {"cpu": 224, **self.capacity}.items():
            unit = "core" if resource == "cpu" else "integer"
            yield _object(
                "kube_node_status_capacity",
                {**node, "resource": sanitised(resource), "unit": unit},
                _of_length(self.there, amount),
            )


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod whose containers ask for `requests` each; `started` is a second of the test's clock."""

    name: str
    requests: Mapping[str, int]
    node: str = ""
    namespace: str = "research"
    phase: str = "Running"
    labels: Mapping[str, str] | None = None
    started: float = -7200
    containers: tuple[str, ...] = ("main",)
    there: tuple[Value, ...] = steady(1)

    def series(self) -> Iterator[Series]:
        """What kube-state-metrics says of the pod; a pending one has no node and no start."""
        pod = {"namespace": self.namespace, "pod": self.name, "uid": f"uid-{self.name}"}
        asked = {"cpu": 16, **self.requests}
        for container, (resource, amount) in product(self.containers, asked.items()):
            labels = {
                **pod,
                "container": container,
                "node": self.node,
                "resource": sanitised(resource),
                "unit": "core" if resource == "cpu" else "integer",
            }
            samples = _of_length(self.there, amount)
            yield _object("kube_pod_container_resource_requests", labels, samples)
        for phase in ("Pending", "Succeeded", "Failed", "Unknown", "Running"):
            samples = _of_length(self.there, float(phase == self.phase))
            yield _object("kube_pod_status_phase", {**pod, "phase": phase}, samples)
        if self.labels is not None:
            seen = {shown(label): value for label, value in self.labels.items()}
            yield _object("kube_pod_labels", {**pod, **seen}, self.there)
        if self.node:
            started = _of_length(self.there, self.started)
            yield _object("kube_pod_start_time", pod, started)

    def on(self, node: str) -> "Pod":
        """The same pod on a node."""
        return replace(self, node=node)
