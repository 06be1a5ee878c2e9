"""Rights of operators and of Kubernetes' parts that lead to more, by the names of their roles.

What such roles hold beside `policies.language.known_roles`: they write nodes, webhooks, namespaces
or admission policies, or bind pods. Read at the releases that `settings.versions` names; those that
the fleet does not install at Argo Workflows 4.0.0, cert-manager 1.19.1, JobSet 0.12.0, KEDA
2.20.2, KServe 0.16.0, Kueue 0.18.2, LeaderWorkerSet 0.10.0, Trainer 2.3.0 and
training-operator 1.9.0.

A role is meant for an account of its own, to which alone a ClusterRoleBinding may give it.
"""

from collections.abc import Mapping, Sequence

from policies.language.known_roles import KNOWN as SECRETS
from policies.language.known_roles import Allows, allows

_WRITES = ("update", "patch")
_NODES = (allows([""], ["nodes"], _WRITES),)
_HOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_BINDS = (allows([""], ["bindings", "pods/binding"], ["create"]),)
_READ = ("get", "list", "watch")


def _hooks(*verbs: str) -> tuple[Allows, ...]:
    return (allows(["admissionregistration.k8s.io"], _HOOKS, verbs),)


_KUBERNETES: Mapping[str, tuple[Allows, ...]] = {
    "system:certificates.k8s.io:kube-apiserver-client-approver": (
        allows(["certificates.k8s.io"], ["signers"], ["approve"]),
    ),
    "system:controller:daemon-set-controller": _BINDS,
    "system:controller:node-controller": _NODES,
    "system:controller:ttl-controller": _NODES,
    "system:kube-scheduler": _BINDS,
    "system:node": _NODES,
}
_FLEET: Mapping[str, tuple[Allows, ...]] = {
    "cilium-operator": _NODES,  # takes taints away
    "fleet-node-check": _NODES,
    "gpu-operator": (
        allows([""], ["namespaces", "nodes"], _WRITES),
        allows(
            ["admissionregistration.k8s.io"],
            ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
            ["create", "update", "delete"],
        ),
    ),
    "gpu-operator-node-feature-discovery": _NODES,
    "gpu-operator-node-feature-discovery-prune": _NODES,
    "karpenter-core": _NODES,
    "kured": _NODES,
    "monitoring-kube-prometheus-admission": _hooks("update", "patch"),
    **{
        f"nvidia-{part}": _NODES
        for part in (
            *("cc-manager", "dra-driver-controller", "dra-driver-kubeletplugin", "driver"),
            *("mig-manager", "vfio-manager", "vgpu-device-manager", "vgpu-manager"),
        )
    },
    "volcano-admission": _hooks("create", "update"),
    "volcano-agent": _NODES,
    "volcano-agent-scheduler": (*_NODES, *_BINDS),
    "volcano-scheduler": (*_NODES, *_BINDS),
}
_OTHERS: Mapping[str, tuple[Allows, ...]] = {
    "argo-server-cluster-role": (allows([""], ["secrets"], ["get"]),),
    "cert-manager-cainjector": _hooks("update", "patch"),
    "jobset-manager-role": _hooks("update"),
    "keda-external-metrics-reader": (allows(["external.metrics.k8s.io"], ["*"]),),
    "keda-operator": (
        *_hooks("patch", "update"),
        allows([""], ["secrets"], _READ),
        allows(["*"], ["*"], ["get"]),
        allows(["*"], ["*/scale"], [*_READ, "patch", "update"]),
    ),
    "kserve-manager-role": (
        *_hooks("create", "delete", "patch", "update"),
        allows([""], ["secrets"], ["get"]),
    ),
    "kubeflow-trainer-controller-manager": _hooks("update"),
    "kueue-manager-role": _hooks("update"),
    "lws-manager-role": (
        *_NODES,
        *_hooks("update"),
        allows([""], ["secrets"], _READ),
    ),
    "mpi-operator": (  # what its release 0.6.0 names by wildcards
        allows(["kubeflow.org"], ["mpijobs", "mpijobs/finalizers", "mpijobs/status"]),
        allows(["coordination.k8s.io"], ["leases"]),
        allows(
            ["scheduling.incubator.k8s.io", "scheduling.sigs.dev", "scheduling.volcano.sh"],
            ["queues", "podgroups"],
        ),
        allows(["scheduling.x-k8s.io"], ["podgroups"]),
    ),
    "nfd-master": _NODES,
    "training-operator": _hooks("update"),
}
_RIGHTS = {**_KUBERNETES, **_FLEET, **_OTHERS}
KNOWN: Mapping[str, tuple[Allows, ...]] = {
    name: (*SECRETS.get(name, ()), *_RIGHTS.get(name, ()))
    for name in dict.fromkeys((*SECRETS, *_RIGHTS))
}
"""By name: all that such a ClusterRole may hold beside what anybody's may."""
OF_PEOPLE = ("admin", "edit", "fleet-team", "system:aggregate-to-edit")
"""Roles for people of one namespace, which nobody may have in all of them."""
_CONTROLLER = "system:controller:"
_ACCOUNTS: Mapping[str, str] = {
    "argo-server-cluster-role": "argo-server",
    "gpu-operator-node-feature-discovery": "node-feature-discovery",
    "baremetal-operator-manager-role": "baremetal-operator-controller-manager",
    "jobset-manager-role": "jobset-controller-manager",
    "karpenter-core": "karpenter",
    "kserve-manager-role": "kserve-controller-manager",
    "kueue-manager-role": "kueue-controller-manager",
    "lws-manager-role": "lws-controller-manager",
    "monitoring-grafana-clusterrole": "monitoring-grafana",
    "system:hcloud-cloud-controller-manager": "hcloud-cloud-controller-manager",
}
_USERS: Mapping[str, Sequence[str]] = {
    "system:kube-controller-manager": ["User/system:kube-controller-manager"],
    "system:kube-scheduler": ["User/system:kube-scheduler"],
    "system:kubelet-api-admin": ["User/kube-apiserver-kubelet-client"],  # kubeadm's
    "system:node": [],  # the API server judges by the node instead
    "volcano-agent": ["ServiceAccount/*/volcano-agent", "User/volcano-agent"],
}
_READERS = ("keda-external-metrics-reader", "resource-metrics-server-resources")


def _own(role: str) -> Sequence[str]:
    if role in _USERS:
        return _USERS[role]
    if role.startswith(_CONTROLLER):
        return [f"ServiceAccount/kube-system/{role.removeprefix(_CONTROLLER)}"]
    name = _ACCOUNTS.get(role, role)
    if role.startswith("cert-manager-controller-"):
        name = "cert-manager"
    return [f"ServiceAccount/*/{name}"]


ACCOUNTS: Mapping[str, Sequence[str]] = {
    role: _own(role) for role in KNOWN if role not in (*OF_PEOPLE, *_READERS, "cluster-admin")
}
"""By name: the subjects that such a role is meant for; `*` stands for any namespace."""
