"""Objects for the rules of isolation: `(rule, what it is, object)`."""

from collections.abc import Iterator, Mapping

from tests.rehearsal.admission.objects import KINDS, Object, container, made, pod, template

Row = tuple[str, str, Object]
IMAGE = "isolation/image-digest"
HOST = "isolation/host-access"
RBAC = "isolation/rbac-wildcards"
NETWORK = "isolation/network-policy"
SETTINGS: Mapping[str, Mapping[str, object]] = {}
_DIGEST = "b" * 64


def _of(image: str, name: str = "main") -> Object:
    return {**container(name), "image": image}


def role(kind: str, name: str = "train", **fields: object) -> Object:
    """A role or a binding."""
    version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def allows(**fields: list[str]) -> Object:
    """The rules of a role that reads pods; `fields` replace what they name."""
    return {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], **fields}]}


def _binds(role: str) -> Object:
    return {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    }


def _network(**spec: object) -> Object:
    whole = {"podSelector": {}, "policyTypes": ["Ingress"], **spec}
    return made("networking.k8s.io/v1", "NetworkPolicy", whole)


def _beside(**fields: object) -> Object:
    return template(container(), {**container("side"), **fields})


_HOST_PATH = {"name": "root", "hostPath": {"path": "/"}}
_PARTS_OF_THE_NODE: Mapping[str, Object] = {
    "network": template(container(), hostNetwork=True),
    "processes": template(container(), hostPID=True),
    "memory": template(container(), hostIPC=True),
    "files": template(container(), volumes=[_HOST_PATH]),
    "devices": _beside(securityContext={"privileged": True}),
    "ports": _beside(ports=[{"containerPort": 80, "hostPort": 80}]),
    "capabilities": _beside(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}),
}


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for kind, making in KINDS.items():
        yield IMAGE, f"a {kind} by digest", making(template(container()))
    for image in (f"train@sha256:{_DIGEST}", f"registry.example:5000/a/b:1@sha256:{_DIGEST}"):
        yield IMAGE, image[:28], pod(_of(image))
    allowed = {"capabilities": {"add": ["SYS_NICE", "CHOWN"]}, "privileged": False}
    yield HOST, "what is allowed", pod({**container(), "securityContext": allowed})
    quiet = {**container(), "ports": [{"containerPort": 80}]}
    volumes = [{"name": "scratch", "emptyDir": {}}]
    yield HOST, "a pod of its own", pod(quiet, hostNetwork=False, volumes=volumes)
    for kind in ("Role", "ClusterRole"):
        yield RBAC, f"a {kind} that names", role(kind, **allows())
        yield RBAC, f"a {kind} of nothing", role(kind, rules=[])
    yield RBAC, "a role of a chart", role("ClusterRole", "cilium-a", **allows(verbs=["*"]))
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        yield RBAC, f"a {kind}", role(kind, **_binds("view"))
    everybody = [{"ports": [{"port": 443}]}]
    some = {"matchLabels": {"app": "web"}}
    yield NETWORK, "nobody", _network()
    yield NETWORK, "its own", _network(ingress=[{"from": [{"podSelector": {}}]}])
    yield NETWORK, "everybody at a port", _network(ingress=everybody)
    yield NETWORK, "everybody at some pods", _network(podSelector=some, ingress=[{}])


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    for kind, making in KINDS.items():
        yield IMAGE, f"a {kind} by tag", making(template(container(), _of("train:1.0", "side")))
    for image in ("train", "train:latest", f"train:sha256-{_DIGEST}"):
        yield IMAGE, image[:28], pod(_of(image))
    first = [_of("busybox:1.37", "first")]
    yield IMAGE, "an init container by tag", pod(container(), initContainers=first)
    for what, found in _PARTS_OF_THE_NODE.items():
        for kind, making in KINDS.items():
            if what in ("network", "devices") or kind in ("Pod", "Workflow"):
                yield HOST, f"a {kind} with the node's {what}", making(found)
    first = [{**container("first"), "securityContext": {"privileged": True}}]
    yield HOST, "an init container", pod(container(), initContainers=first)
    for kind in ("Role", "ClusterRole"):
        for field in ("verbs", "resources", "apiGroups"):
            yield RBAC, f"a {kind} with all {field}", role(kind, **allows(**{field: ["*"]}))
    paths = {"nonResourceURLs": ["*"], "verbs": ["get"]}
    yield RBAC, "all paths", role("ClusterRole", rules=[paths])
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        yield RBAC, f"a {kind} to cluster-admin", role(kind, **_binds("cluster-admin"))
    yield NETWORK, "everybody", _network(ingress=[{}])
    yield NETWORK, "everybody, too", _network(ingress=[{"from": [{"podSelector": {}}]}, {}])


def malformed() -> Iterator[Row]:
    """Objects that both gates refuse, in whatever words."""
    yield IMAGE, "a short digest", pod(_of("train@sha256:abc"))
