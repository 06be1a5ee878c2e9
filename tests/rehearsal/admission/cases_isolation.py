"""Objects for the rules of isolation: `(rule, what it is, object)`."""

from collections.abc import Iterator, Mapping

from tests.support.admission.objects import KINDS, Object, container, made, pod, template

Row = tuple[str, str, Object]
IMAGE = "isolation/image-digest"
HOST = "isolation/host-access"
RBAC = "isolation/rbac-wildcards"
IMDS = "isolation/imdsv2"
WORLD = "isolation/open-to-world"
SECRETS = "isolation/clear-secrets"
NETWORK = "isolation/network-policy"
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


def _node_class(**options: object) -> Object:
    """An EC2NodeClass of Flatcar."""
    spec = {
        "amiSelectorTerms": [{"owner": "075585003325", "name": "Flatcar-stable-*"}],
        "amiFamily": "Custom",
        "instanceProfile": "burst",
        "subnetSelectorTerms": [{"tags": {"fleet": "dev"}}],
        "securityGroupSelectorTerms": [{"tags": {"fleet": "dev"}}],
        "tags": {"fleet.gpu/cluster": "dev", "fleet.gpu/pool": "burst"},
        **({"metadataOptions": options} if options else {}),
    }
    return made("karpenter.k8s.aws/v1", "EC2NodeClass", spec)


def _service(port: int, **spec: object) -> Object:
    whole = {"type": "LoadBalancer", "ports": [{"port": port}], **spec}
    return made("v1", "Service", whole)


def _told(name: str, **value: object) -> Object:
    """A pod with one variable of its environment."""
    return pod({**container(), "env": [{"name": name, **value}]})


def _map(**data: str) -> Object:
    version = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train"}}
    return {**version, "data": {key.replace("_dot_", "."): text for key, text in data.items()}}


_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n"


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


_WEB = {"matchLabels": {"app": "web"}}
_SOME: tuple[Object, ...] = (
    {"namespaceSelector": _WEB},
    {"namespaceSelector": {}, "podSelector": _WEB},
    {"ipBlock": {"cidr": "10.0.0.0/8"}},
    {"ipBlock": {"cidr": "0.0.0.0/3", "except": ["0.0.0.0/4", "16.0.0.0/5"]}},
)
_EVERYBODY: tuple[Object, ...] = (
    {"namespaceSelector": {}},
    {"namespaceSelector": {}, "podSelector": {}},
    {"ipBlock": {"cidr": "0.0.0.0/0"}},
    {"ipBlock": {"cidr": "::/0"}},
)
_SECRET_NAMES = (
    *("DB_PASSWORD", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "hf_token"),
    *("PRIVATE_KEY", "MINIO_SECRET_KEY"),
)


def _of_all_steps() -> Iterator[tuple[str, Object]]:
    """Workflows of Argo that give the pods of all their steps a part of the node."""
    for kind in ("Workflow", "WorkflowTemplate", "CronWorkflow"):
        for field, value in (("hostNetwork", True), ("volumes", [_HOST_PATH])):
            found = KINDS[kind](template(container()))
            inner = found["spec"]
            (inner["workflowSpec"] if kind == "CronWorkflow" else inner)[field] = value
            yield f"all steps of a {kind} with {field}", found


def _bad_roles() -> Iterator[Row]:
    for kind in ("Role", "ClusterRole"):
        for field in ("verbs", "resources", "apiGroups"):
            yield RBAC, f"a {kind} with all {field}", role(kind, **allows(**{field: ["*"]}))
    for path in ("*", "/*"):
        paths = {"nonResourceURLs": [path], "verbs": ["get"]}
        yield RBAC, f"all paths by {path}", role("ClusterRole", rules=[paths])
    for name in ("admin-user", "cluster-admin-binding"):
        yield RBAC, f"{name} to all", role("ClusterRoleBinding", name, **_binds("cluster-admin"))
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        yield RBAC, f"a {kind} to cluster-admin", role(kind, **_binds("cluster-admin"))


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for kind, making in KINDS.items():
        yield IMAGE, f"a {kind} by digest", making(template(container()))
    for image in (f"train@sha256:{_DIGEST}", f"registry.example:5000/a/b:1@sha256:{_DIGEST}"):
        yield IMAGE, image[:28], pod(_of(image))
    allowed = {"capabilities": {"add": ["KILL", "CHOWN"]}, "privileged": False}
    yield HOST, "what is allowed", pod({**container(), "securityContext": allowed})
    quiet = {**container(), "ports": [{"containerPort": 80}]}
    volumes = [{"name": "scratch", "emptyDir": {}}]
    yield HOST, "a pod of its own", pod(quiet, hostNetwork=False, volumes=volumes)
    for kind in ("Role", "ClusterRole"):
        yield RBAC, f"a {kind} that names", role(kind, **allows())
        yield RBAC, f"a {kind} of nothing", role(kind, rules=[])
    logs = {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}
    yield RBAC, "some paths", role("ClusterRole", rules=[logs])
    yield (
        RBAC,
        "a role of a chart",
        role(
            "ClusterRole",
            "resource-metrics-server-resources",
            **allows(apiGroups=["metrics.k8s.io"], resources=["*"], verbs=["*"]),
        ),
    )
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        yield RBAC, f"a {kind}", role(kind, **_binds("view"))
    everybody = [{"ports": [{"port": 443}]}]
    some = {"matchLabels": {"app": "web"}}
    yield NETWORK, "nobody", _network()
    yield NETWORK, "its own", _network(ingress=[{"from": [{"podSelector": {}}]}])
    for peer in _SOME:
        yield NETWORK, f"some by {peer}", _network(ingress=[{"from": [peer]}])
    yield NETWORK, "everybody at a port", _network(ingress=everybody)
    yield NETWORK, "everybody at some pods", _network(podSelector=some, ingress=[{}])
    yield IMDS, "what Karpenter fills in", _node_class()
    yield IMDS, "tokens", _node_class(httpTokens="required", httpPutResponseHopLimit=1)
    yield IMDS, "no service at all", _node_class(httpEndpoint="disabled", httpTokens="optional")
    yield WORLD, "HTTPS for everybody", _service(443)
    yield WORLD, "SSH for some", _service(22, loadBalancerSourceRanges=["10.0.0.0/8"])
    yield WORLD, "SSH in the cluster", _service(22, type="ClusterIP")
    reference = {"secretKeyRef": {"name": "lakefs", "key": "secret"}}
    yield SECRETS, "a reference", _told("LAKEFS_SECRET_ACCESS_KEY", valueFrom=reference)
    yield SECRETS, "another variable", _told("TOKENIZERS_PARALLELISM", value="true")
    yield SECRETS, "where it is", _told("KUBE_TOKEN_FILE", value="/var/run/token")
    yield SECRETS, "another's value", _told("DB_PASSWORD", value="$(PASSWORD)")
    yield SECRETS, "a parameter", _told("HF_TOKEN", value="{{inputs.parameters.token}}")
    yield SECRETS, "two references", _told("DB_PASSWORD", value="$(FIRST)$(SECOND)")
    yield SECRETS, "a word of a language", _told("EOS_TOKEN", value="</s>")
    words = {"command": ["sh", "-c"], "args": ["train --password-file /run/secret"]}
    yield SECRETS, "a command", pod({**container(), **words})
    yield SECRETS, "a yes", _told("USE_TOKEN", value="True")
    yield SECRETS, "nothing", _told("DB_PASSWORD", value="")
    yield SECRETS, "a ConfigMap", _map(batch_size="8", certificate="-----BEGIN CERTIFICATE-----")


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
    yield from ((HOST, what, found) for what, found in _of_all_steps())
    first = [{**container("first"), "securityContext": {"privileged": True}}]
    yield HOST, "an init container", pod(container(), initContainers=first)
    yield from _bad_roles()
    yield NETWORK, "everybody", _network(ingress=[{}])
    yield NETWORK, "everybody, too", _network(ingress=[{"from": [{"podSelector": {}}]}, {}])
    for peer in _EVERYBODY:
        yield NETWORK, f"everybody by {peer}", _network(ingress=[{"from": [peer]}])
    yield IMDS, "no tokens", _node_class(httpTokens="optional")
    yield IMDS, "two hops", _node_class(httpTokens="required", httpPutResponseHopLimit=2)
    yield WORLD, "SSH", _service(22)
    yield WORLD, "the API", _service(6443, loadBalancerSourceRanges=["10.0.0.0/8", "0.0.0.0/0"])
    for kind, making in KINDS.items():
        variable = {"env": [{"name": "WANDB_API_KEY", "value": "hunter2"}]}
        yield SECRETS, f"a {kind}", making(_beside(**variable))
    for name in _SECRET_NAMES:
        yield SECRETS, name, _told(name, value="hunter2")
    yield SECRETS, "a key by another name", _told("IDENTITY", value=_KEY)
    for field in ("command", "args"):
        words = [f"--key={_KEY}"]
        yield SECRETS, f"a key in {field}", pod({**container(), field: words})
    yield SECRETS, "a ConfigMap with a password", _map(db_password="hunter2")
    yield SECRETS, "a ConfigMap with a key", _map(id_dot_txt=_KEY)


def malformed() -> Iterator[Row]:
    """Objects that both gates refuse, in whatever words."""
    yield IMAGE, "a short digest", pod(_of("train@sha256:abc"))
