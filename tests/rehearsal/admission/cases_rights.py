"""Rights that lead to more, and whom they are bound to: `(rule, what it is, object)`."""

from collections.abc import Iterator

from tests.rehearsal.admission.cases_isolation import HOST, RBAC, allows, role
from tests.support.admission.objects import Object, made

Row = tuple[str, str, Object]
_GROUP = "rbac.authorization.k8s.io"
_GATES = "admissionregistration.k8s.io"
_SIGNERS = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve"]}
_ALL = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def _bound(name: str, subject: str, *, kind: str = "ClusterRoleBinding") -> Object:
    """A binding of a ClusterRole to a subject that is written as in the setting."""
    of, _, called = subject.partition("/")
    space, _, name_of = called.rpartition("/") if of == "ServiceAccount" else ("", "", called)
    found: Object = {"kind": of, "name": name_of}
    if of == "ServiceAccount":
        found["namespace"] = space
    else:
        found["apiGroup"] = _GROUP
    reference = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": name}
    return role(kind, roleRef=reference, subjects=[found])


def _volume(path: str) -> Object:
    host = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["dgx-01"]}
    terms = {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "local": {"path": path},
        "nodeAffinity": terms,
    }
    return made("v1", "PersistentVolume", spec)


_DEFAULT = "ServiceAccount/research/default"
_EVERYBODY = "Group/system:authenticated"
_HARMLESS: dict[str, Object] = {
    "one webhook by its name": {
        "apiGroups": [_GATES],
        "resources": ["validatingwebhookconfigurations"],
        "verbs": ["update"],
        "resourceNames": ["mine"],
    },
    "webhooks to read": {
        "apiGroups": [_GATES],
        "resources": ["validatingwebhookconfigurations"],
        "verbs": ["get", "list", "watch"],
    },
    "kubelets' certificates": {**_SIGNERS, "resourceNames": ["kubernetes.io/kubelet-serving"]},
    "namespaces to make": {
        "apiGroups": [""],
        "resources": ["namespaces"],
        "verbs": ["get", "create"],
    },
    "the state of nodes": {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
}
_TOO_MUCH: dict[str, Object] = {
    **{
        f"{verb} {resource}": {"apiGroups": [_GATES], "resources": [resource], "verbs": [verb]}
        for verb, resource in (
            ("create", "mutatingwebhookconfigurations"),
            ("update", "validatingwebhookconfigurations"),
            ("delete", "validatingadmissionpolicies"),
            ("patch", "validatingadmissionpolicybindings"),
            ("deletecollection", "mutatingadmissionpolicies"),
            ("create", "mutatingadmissionpolicybindings"),
        )
    },
    "certificates of all signers": _SIGNERS,
    "certificates for the API server": {
        **_SIGNERS,
        "resourceNames": ["kubernetes.io/kube-apiserver-client"],
    },
    "nodes": {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]},
}
_IN_A_NAMESPACE: dict[str, Object] = {
    "the namespace": {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["update"]},
    "bindings of pods": {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
    "bindings": {"apiGroups": [""], "resources": ["bindings"], "verbs": ["create"]},
}
_OPERATOR = {
    "rules": [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "update", "watch"]},
        {
            "apiGroups": [_GATES],
            "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            "verbs": ["get", "list", "update", "watch"],
        },
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch", "update"]},
    ]
}
_KEDA = {
    "rules": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"]},
        {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["get", "patch", "update"]},
    ]
}


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for what, found in _HARMLESS.items():
        yield RBAC, what, role("ClusterRole", rules=[found])
    yield RBAC, "what LeaderWorkerSet holds", role("ClusterRole", "lws-manager-role", **_OPERATOR)
    yield RBAC, "what KEDA holds", role("ClusterRole", "keda-operator", **_KEDA)
    jobs = allows(apiGroups=["kubeflow.org"], resources=["mpijobs"], verbs=["*"])
    yield RBAC, "what the MPI Operator holds", role("ClusterRole", "mpi-operator", **jobs)
    yield RBAC, "edit in a namespace", _bound("edit", "Group/desk", kind="RoleBinding")
    yield RBAC, "a team's role there", _bound("fleet-team", "Group/desk", kind="RoleBinding")
    yield RBAC, "edit for masters", _bound("edit", "Group/system:masters")
    account = "ServiceAccount/kube-system/generic-garbage-collector"
    collector = "system:controller:generic-garbage-collector"
    yield RBAC, "the garbage collector's own role", _bound(collector, account)
    keda = "ServiceAccount/keda/keda-operator"
    yield RBAC, "an operator's own role", _bound("keda-operator", keda)
    lws = "ServiceAccount/lws-system/lws-controller-manager"
    yield RBAC, "an operator's own role by another name", _bound("lws-manager-role", lws)
    yield RBAC, "a role of ones own", _bound("train", _DEFAULT)
    for path in ("/scratch/disk", "/mnt/disks/ssd1"):
        yield HOST, f"a local volume at {path}", _volume(path)


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    for what, found in {**_TOO_MUCH, **_IN_A_NAMESPACE}.items():
        yield RBAC, f"all rights on {what}", role("ClusterRole", rules=[found])
    for what, found in _IN_A_NAMESPACE.items():
        yield RBAC, f"rights on {what} in a namespace", role("Role", rules=[found])
    for name in ("cluster-admin", "system:controller:generic-garbage-collector", "gpu-operator"):
        yield RBAC, f"a Role that is called {name}", role("Role", name, rules=[_ALL])
    core = {"apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["*"]}
    yield RBAC, "more than the GPU operator has", role("ClusterRole", "gpu-operator", rules=[core])
    for name in ("admin", "edit", "system:aggregate-to-edit", "fleet-team", "keda-operator"):
        yield RBAC, f"{name} for an account", _bound(name, _DEFAULT)
        yield RBAC, f"{name} for everybody", _bound(name, _EVERYBODY)
    collector = "system:controller:generic-garbage-collector"
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        yield RBAC, f"a {kind} to the garbage collector", _bound(collector, _DEFAULT, kind=kind)
    elsewhere = "ServiceAccount/research/generic-garbage-collector"
    yield RBAC, "another garbage collector", _bound(collector, elsewhere)
    for path in ("/", "/etc/kubernetes", "/scratch", "/mnt/disks"):
        yield HOST, f"a local volume at {path}", _volume(path)


def malformed() -> Iterator[Row]:
    """None: the API server reads all of these."""
    yield from ()
