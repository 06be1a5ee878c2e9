"""The monitors of programs whose charts bring none, or none that this fleet can use.

A chart that makes its monitor itself would have to wait for Prometheus' CRDs, and so Karpenter and
kured for the whole of monitoring; these are made when the CRDs are there.
"""

from collections.abc import Mapping

from policies.gates.prometheus_rule import Manifest
from settings.names import CERT_MANAGER_NAMESPACE, KUBE_SYSTEM, KURED_NAMESPACE, VOLCANO_NAMESPACE

_EVERY = "30s"


def monitors(namespace: str) -> dict[str, Manifest]:
    """Returns a PodMonitor for each program by its name; one that is not there has no targets.

    The labels and ports are those of the pods of the pinned charts: Volcano 1.14.1
    (templates/scheduler.yaml, controllers.yaml), Karpenter 1.14.1 (templates/deployment.yaml),
    kured 6.0.0 (templates/daemonset.yaml), cert-manager (templates/deployment.yaml).
    """
    name = "app.kubernetes.io/name"
    return {
        "volcano": _service_monitor(namespace),
        "karpenter": _pods(
            namespace, "karpenter", KUBE_SYSTEM, {name: "karpenter"}, "http-metrics"
        ),
        "kured": _pods(namespace, "kured", KURED_NAMESPACE, {name: "kured"}, "metrics"),
        "cert-manager": _pods(
            namespace,
            "cert-manager",
            CERT_MANAGER_NAMESPACE,
            {name: "cert-manager"},
            "http-metrics",
        ),
    }


def _pods(
    namespace: str, name: str, where: str, labelled: Mapping[str, str], port: str
) -> Manifest:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "namespaceSelector": {"matchNames": [where]},
            "selector": {"matchLabels": dict(labelled)},
            "podMetricsEndpoints": [{"port": port, "interval": _EVERY}],
        },
    }


def _service_monitor(namespace: str) -> Manifest:
    """Returns the monitor of Volcano's Services, whose pods name no port."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "volcano", "namespace": namespace},
        "spec": {
            "namespaceSelector": {"matchNames": [VOLCANO_NAMESPACE]},
            "selector": {
                "matchExpressions": [
                    {
                        "key": "app",
                        "operator": "In",
                        "values": ["volcano-scheduler", "volcano-controller"],
                    }
                ]
            },
            "endpoints": [{"port": "metrics", "interval": _EVERY}],
        },
    }
