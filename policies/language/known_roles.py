"""Roles that hold more than a team's may, each by its name and by what it holds at most.

A name alone proves nothing, as anybody may choose it. Kubernetes' own are those of 1.36.3's API
server. The charts and manifests were read at the releases of `settings.versions`; those that the
fleet does not install at cert-manager 1.21.1, baremetal-operator 0.13.2, Trainer 2.3.0, KubeRay
1.7.0, MPI Operator 0.8.0, training-operator 1.9.0 and kube-prometheus 0.16.0. Grafana's is that of
grafana-community/helm-charts b85d8fc9, Cilium's that of cilium/cilium 01ed01f0.
"""

from collections.abc import Mapping, Sequence

Allows = Mapping[str, Sequence[str]]
_FIELDS = ("apiGroups", "resources", "verbs", "nonResourceURLs")
_ALL = ("*",)


def allows(
    groups: Sequence[str] = (),
    resources: Sequence[str] = (),
    verbs: Sequence[str] = _ALL,
    urls: Sequence[str] = (),
) -> Allows:
    """Return a rule of a role; `*` holds whatever stands in its place."""
    return dict(zip(_FIELDS, (groups, resources, verbs, urls), strict=True))


def _secrets(*verbs: str) -> tuple[Allows, ...]:
    return (allows([""], ["secrets", "serviceaccounts"], verbs),)


_READ = ("get", "list", "watch")
_PROMETHEUS_OPERATOR = (  # also that of kube-prometheus
    allows(["monitoring.coreos.com"], _ALL),
    allows(["apps"], ["statefulsets"]),
    allows([""], ["configmaps", "secrets"]),
)
_OF_KUBELETS = ("configz", "healthz", "log", "metrics", "pods", "proxy", "stats")
_OF_TEAMS = (
    allows([""], ["serviceaccounts"], ["impersonate"]),
    allows([""], ["serviceaccounts/token"], ["create"]),
    *_secrets(*_READ, "create", "delete", "deletecollection", "patch", "update"),
)
_KUBERNETES: Mapping[str, tuple[Allows, ...]] = {
    "cluster-admin": (allows(_ALL, _ALL), allows(urls=_ALL)),
    "admin": _OF_TEAMS,
    "edit": _OF_TEAMS,
    "system:aggregate-to-edit": _OF_TEAMS,
    "system:controller:clusterrole-aggregation-controller": (
        allows(["rbac.authorization.k8s.io"], ["clusterroles"], [*_READ, "escalate"]),
    ),
    "system:controller:disruption-controller": (allows(_ALL, ["*/scale"], ["get"]),),
    "system:controller:generic-garbage-collector": (
        allows(_ALL, _ALL, [*_READ, "delete", "patch", "update"]),
    ),
    "system:controller:horizontal-pod-autoscaler": (
        allows(_ALL, ["*/scale"], ["get", "update"]),
        allows(["custom.metrics.k8s.io", "external.metrics.k8s.io"], _ALL, _READ),
    ),
    "system:controller:namespace-controller": (
        allows(_ALL, _ALL, [*_READ, "delete", "deletecollection"]),
    ),
    "system:controller:resourcequota-controller": (allows(_ALL, _ALL, ["list", "watch"]),),
    "system:kube-controller-manager": (
        allows(_ALL, _ALL, ["list", "watch"]),
        *_secrets("get"),
        allows([""], ["serviceaccounts/token"], ["create"]),
    ),
    "system:kubelet-api-admin": (allows([""], [f"nodes/{part}" for part in _OF_KUBELETS]),),
    "system:node": (*_secrets(*_READ), allows([""], ["serviceaccounts/token"], ["create"])),
}
_CHARTS: Mapping[str, tuple[Allows, ...]] = {
    "baremetal-operator-manager-role": _secrets(*_READ, "update"),
    "cert-manager-cainjector": _secrets(*_READ),
    **{
        f"cert-manager-controller-{name}": _secrets(*_READ, "create", "delete", "patch", "update")
        for name in ("certificates", "clusterissuers", "issuers")
    },
    **{f"cert-manager-controller-{name}": _secrets(*_READ) for name in ("challenges", "orders")},
    "cilium-operator": _secrets(*_READ),
    # a team's, which is bound in its own namespaces alone
    "fleet-team": _secrets(*_READ, "create", "delete", "deletecollection", "patch", "update"),
    "kubeflow-trainer-controller-manager": _secrets(*_READ, "create", "patch", "update"),
    "kuberay-operator": _secrets(*_READ, "create", "delete", "update"),
    "kube-state-metrics": _secrets("list", "watch"),
    "mpi-operator": _secrets("create", "list", "update", "watch"),
    "monitoring-grafana-clusterrole": _secrets(*_READ),
    "monitoring-kube-prometheus-operator": _PROMETHEUS_OPERATOR,
    "monitoring-kube-state-metrics": _secrets("list", "watch"),
    "prometheus-operator": _PROMETHEUS_OPERATOR,
    "resource-metrics-server-resources": (allows(["metrics.k8s.io"], _ALL),),
    # its chart names every verb of nodes by the wildcard; those of its subresources are not in it
    "system:hcloud-cloud-controller-manager": (allows([""], ["nodes"]),),
    "training-operator": _secrets(*_READ, "update"),
    "volcano-controllers": _secrets("create", "delete", "get", "update"),
}
KNOWN: Mapping[str, tuple[Allows, ...]] = {**_KUBERNETES, **_CHARTS}
"""By name: the rules that such a role may hold beside those that anybody's may.

Of a rule only what is guarded must be listed: wildcards, and the resources and verbs of
isolation/rbac-wildcards.
"""
