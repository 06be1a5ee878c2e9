"""The same hole in other words, and what only looks like one: `(rule, what it is, object)`."""

import base64
from collections.abc import Iterator, Mapping

from tests.rehearsal.admission.cases_isolation import allows, role
from tests.support.admission.objects import Object, container, made, pod, workflow
from tests.support.admission.objects import template as pod_template

Row = tuple[str, str, Object]
IMAGE = "isolation/image-digest"
HOST = "isolation/host-access"
RBAC = "isolation/rbac-wildcards"
WORLD = "isolation/open-to-world"
SECRETS = "isolation/clear-secrets"
NETWORK = "isolation/network-policy"
UNFILLED = "isolation/placeholders"
HALVES = ["0.0.0.0/1", "128.0.0.0/1"]


def network(*peers: Object, selector: Object | None = None, **rule: object) -> Object:
    """A NetworkPolicy with one rule for its peers."""
    ingress = {**({"from": list(peers)} if peers else {}), **rule}
    spec = {"podSelector": selector or {}, "policyTypes": ["Ingress"], "ingress": [ingress]}
    return made("networking.k8s.io/v1", "NetworkPolicy", spec)


def said(key: str, operator: str, *values: str) -> Object:
    expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    return {"matchExpressions": [expression]}


def blocks(*cidrs: str) -> list[Object]:
    """Peers by addresses."""
    return [{"ipBlock": {"cidr": each}} for each in cidrs]


_NAME = "kubernetes.io/metadata.name"


def _open_policies() -> Iterator[tuple[str, Object]]:
    for types in ([], ["Egress", "Ingress"]):
        found = network()
        found["spec"] = {**found["spec"], "policyTypes": types}
        yield f"everybody by the types {types}", found
    for operator, key in (
        ("Exists", _NAME),
        ("DoesNotExist", "none"),
        ("Exists", "fleet.gpu/team"),
    ):
        yield f"{operator} {key}", network({"namespaceSelector": said(key, operator)})
    others = {"namespaceSelector": said(_NAME, "NotIn", "none")}
    yield "all but one namespace", network(others)
    nobody = {"namespaceSelector": {}, "podSelector": said("none", "DoesNotExist")}
    yield "pods without a label", network(nobody)
    yield "two halves", network(*blocks(*HALVES))
    yield "two halves of IPv6", network(*blocks("::/1", "8000::/1"))
    yield "what IPv6 routes", network(*blocks("2000::/3"))
    yield "sixteen parts", network(*blocks(*(f"{each * 16}.0.0.0/8" for each in range(16))))
    most = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}
    yield "all but a network", network(most)
    twice = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8", "10.0.0.0/9"] * 99}}
    yield "all but one network many times", network(twice)
    rules = [{"from": blocks(each)} for each in HALVES]
    apart = network()
    apart["spec"]["ingress"] = rules
    yield "two halves in two rules", apart
    for first, last in ((1, 65535), (1, 40000)):
        ports = [{"protocol": "TCP", "port": first, "endPort": last}]
        yield f"ports {first} to {last}", network(ports=ports)
    yield "all ports of UDP", network(ports=[{"protocol": "UDP"}])
    parts = [{"port": 1, "endPort": 30000}, {"port": 30001, "endPort": 65535}]
    yield "all ports in two parts", network(ports=parts)
    yield "all pods by what none has", network(selector=said("none", "DoesNotExist"))


def _closed_policies() -> Iterator[tuple[str, Object]]:
    for ingress in ({}, {"from": blocks("0.0.0.0/0")}):
        out = network()
        out["spec"] = {**out["spec"], "policyTypes": ["Egress"], "ingress": [ingress]}
        yield f"{ingress or 'everybody'} in a policy of egress alone", out
    named = {"namespaceSelector": said(_NAME, "In", "monitoring")}
    yield "a namespace by its name", network(named)
    yield "namespaces with a mark", network({"namespaceSelector": said("scrapes", "Exists")})
    private = blocks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
    yield "all private networks", network(*private)
    yield "one network many times", network(*blocks(*["10.0.0.0/8", "10.128.0.0/9"] * 20))
    yield "ports of nodes", network(ports=[{"port": 30000, "endPort": 32767}])
    yield "a named port", network(ports=[{"port": "web"}])
    yield "pods with a label", network(selector=said("app", "Exists"))


def _service(port: Object, **spec: object) -> Object:
    return made("v1", "Service", {"type": "LoadBalancer", "ports": [port], **spec})


def _annotated(ranges: str) -> Object:
    found = _service({"port": 22})
    key = "service.beta.kubernetes.io/load-balancer-source-ranges"
    found["metadata"]["annotations"] = {key: ranges}
    return found


def _with_policy(policy: str) -> Object:
    found = _service({"port": 22}, loadBalancerSourceRanges=["10.0.0.0/8"])
    found["metadata"]["annotations"] = {"service.cilium.io/src-ranges-policy": policy}
    return found


def _services() -> Iterator[tuple[str, Object]]:
    yield "SSH behind another port", _service({"port": 2222, "targetPort": 22})
    yield "SSH by name", _service({"port": 2222, "targetPort": "ssh"})
    yield "a port called ssh", _service({"port": 2222, "name": "ssh"})
    yield "etcd by name", _service({"port": 443, "targetPort": "etcd-client"})
    yield "SSH at every node", _service({"port": 22}, type="NodePort")
    yield "SSH for two halves", _service({"port": 22}, loadBalancerSourceRanges=HALVES)
    for policy in ("deny", "Deny"):
        yield f"SSH for all but some by {policy}", _with_policy(policy)
    yield (
        "an address of its own",
        _service({"port": 443}, type="ClusterIP", externalIPs=["8.8.8.8"]),
    )


def _grants() -> Iterator[tuple[str, Object]]:
    every = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    for name in ("nvidia-mine", "cilium-a", "system:mine", "gpu-operator"):
        yield f"all rights of {name}", role("ClusterRole", name, rules=[every])
    group = "rbac.authorization.k8s.io"
    for verb in ("escalate", "bind"):
        roles = allows(apiGroups=[group], resources=["clusterroles"], verbs=[verb])
        yield f"{verb} in a namespace", role("Role", **roles)
    for resource in ("users", "groups", "serviceaccounts"):
        taken = allows(resources=[resource], verbs=["impersonate"])
        yield f"impersonate {resource}", role("ClusterRole", **taken)
    extra = allows(
        apiGroups=["authentication.k8s.io"], resources=["userextras/scopes"], verbs=["impersonate"]
    )
    yield "impersonate by what is said of users", role("ClusterRole", **extra)
    for resource in ("nodes/proxy", "*/proxy"):
        yield resource, role("ClusterRole", **allows(resources=[resource]))
    for verb in ("get", "list", "watch"):
        secrets = allows(resources=["configmaps", "secrets"], verbs=[verb])
        yield f"{verb} all secrets", role("ClusterRole", **secrets)
    for resource in ("serviceaccounts/token", "*/token"):
        tokens = allows(resources=[resource], verbs=["create"])
        yield f"tokens by {resource}", role("ClusterRole", **tokens)
    for selector in ({}, said("none", "DoesNotExist")):
        takes: Object = {"aggregationRule": {"clusterRoleSelectors": [selector]}, "rules": []}
        yield f"all roles by {selector}", role("ClusterRole", **takes)
    admin = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
    for name in ("admin", "mine"):
        subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}]
        binding = role("ClusterRoleBinding", "kubeadm:mine", roleRef=admin, subjects=subjects)
        yield f"cluster-admin for {name}", binding


def _modest_grants() -> Iterator[tuple[str, Object]]:
    reviews = allows(
        apiGroups=["authentication.k8s.io"], resources=["tokenreviews"], verbs=["create"]
    )
    yield "reviews of tokens", role("ClusterRole", **reviews)
    yield "secrets of a namespace", role("Role", **allows(resources=["secrets"]))
    one = allows(resources=["secrets"], resourceNames=["license"])
    yield "one secret by its name", role("ClusterRole", **one)
    bound = allows(resources=["pods"], verbs=["bind"])
    yield "bind of pods", role("ClusterRole", **bound)
    operator = allows(resources=["configmaps", "secrets"], verbs=["*"])
    yield (
        "what the Prometheus operator holds",
        role("ClusterRole", "prometheus-operator", **operator),
    )
    named = {"matchLabels": {"rbac.example.com/aggregate-to-desk": "true"}}
    takes: Object = {"aggregationRule": {"clusterRoleSelectors": [named]}, "rules": []}
    yield "roles with a label", role("ClusterRole", **takes)
    group = "rbac.authorization.k8s.io"
    admin = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
    masters = [{"apiGroup": group, "kind": "Group", "name": "system:masters"}]
    yield "cluster-admin for masters", role("ClusterRoleBinding", roleRef=admin, subjects=masters)


def _told(name: str, value: str) -> Object:
    return pod({**container(), "env": [{"name": name, "value": value}]})


def _map(field: str = "data", **data: str) -> Object:
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train"}}
    return {**whole, field: {key.replace("_dot_", "."): text for key, text in data.items()}}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_AWS = "AKIA" + "IOSFODNN7EXAMPLE"
_TOKENS = {
    "AWS": _AWS,
    "GitHub": "ghp_" + "a1" * 18,
    "GitHub, of one repository": "github_pat_" + "A1" * 11 + "_" + "b2" * 29,
    "GitLab": "glpat-" + "a1b2" * 5,
    "Hugging Face": "hf_" + "aB" * 17,
    "OpenAI": "sk-" + "a1B2" * 12,
    "OpenAI, of a project": "sk-proj-" + "a1B2" * 12,
    "Slack": "xoxb-" + "1" * 12 + "-" + "a1" * 6,
    "Google": "AIza" + "a1B2c" * 7,
    "a key": "-----BEGIN EC PRIVATE KEY-----\nMHc\n",
}
_SECRET_VARIABLES = {
    "DB_PWD": "hunter2",
    "PGPASS": "hunter2",
    "PASSPHRASE": "hunter2",
    "CREDENTIALS": "hunter2",
    "keystorePassword": "hunter2",
    "DATABASE_URL": "postgres://u:hunter2@db:5432/desk",
    "REDIS": "redis://:hunter2@redis:6379",
    "HF_TOKEN": "${HF_TOKEN:-hunter2}",
    "ADMIN_PASSWORD": "123456",
}
_PUBLIC_VARIABLES = {
    "ALLOW_EMPTY_PASSWORD": "yes",
    "MYSQL_RANDOM_ROOT_PASSWORD": "1",
    "PAD_TOKEN": "[PAD]",
    "MAX_NEW_TOKEN": "4096",
    "OPENAI_API_KEY": "EMPTY",
    "API_TOKEN": "op://vault/item/field",
    "DB_PASSWORD": "vault:secret/data/db#password",
    "PWD": "/work",
    "DATABASE_URL": "postgres://desk@db:5432/desk",
    "PROXY": "http://$(USER):$(PASSWORD)@proxy:3128",
    "IMAGE": "registry.example/task-runner-with-a-long-name-of-forty-letters",
}
_FILES = {
    "a YAML file": "user: desk\npassword: hunter2\n",
    "a file of Redis": "port 6379\nrequirepass 5241590000000000\n",
    "an INI file": "[db]\nDB_PASSWORD = hunter2 # of the desk\n",
    "a JSON file": '{\n  "clientSecret": "hunter2",\n  "user": "desk"\n}\n',
}
_PUBLIC_FILES = {
    "a file that names": "password: ${DB_PASSWORD}\npasswordFile: /run/secret\napi_key: ''\n",
    "a file of a system": "passwd: files sss\n# requirepass a\nrequirepass ${P}\n",
    "a file with types": "password: string\nadminPassword: null\nsecretKey: <key>\n",
}


def _secrets() -> Iterator[tuple[str, Object]]:
    for name, token in _TOKENS.items():
        yield f"a token of {name}", _told("SOMETHING", token)
        yield f"a token of {name} in a file", _map(settings=f"a: 1\nb: {token}\n")
        for before in ("", "a", "ab"):
            inside = _base64(f"{before}\n{token}\n")
            yield f"{name} in base64 behind {len(before)}", _map("binaryData", blob=inside)
    for name, value in _SECRET_VARIABLES.items():
        yield f"{name}={value}", _told(name, value)
    for what, text in _FILES.items():
        yield what, _map(file=text)
    yield "a key of binary data", _map("binaryData", db_password=_base64("hunter2"))
    url = {**container(), "args": ["--db=postgres://u:hunter2@db/desk"]}
    yield "an address in a command", pod(url)


def _no_secrets() -> Iterator[tuple[str, Object]]:
    for name, value in _PUBLIC_VARIABLES.items():
        yield f"{name}={value}", _told(name, value)
    for what, text in _PUBLIC_FILES.items():
        yield what, _map(file=text)
    yield "a program", _map(train_dot_py="import os\npassword = secret\n")
    yield "a token of a tokenizer", _map(add_special_token="0")
    text = "task-runner-with-a-long-name-of-forty-letters hf_hub_download ghp_ glpat- AKIA xoxb- "
    yield "text in base64", _map("binaryData", blob=_base64(text * 20))
    yield "some bytes", _map("binaryData", blob=base64.b64encode(bytes(range(256))).decode())


_LOOSE: Mapping[str, Object] = {
    "seccomp": {"seccompProfile": {"type": "Unconfined"}},
    "AppArmor": {"appArmorProfile": {"type": "Unconfined"}},
    "SELinux by type": {"seLinuxOptions": {"type": "spc_t"}},
    "SELinux by role": {"seLinuxOptions": {"role": "sysadm_r"}},
}


_APPARMOR = "container.apparmor.security.beta.kubernetes.io"


def _loosened() -> Iterator[tuple[str, Object]]:
    for what, context in _LOOSE.items():
        yield f"a pod without {what}", pod(container(), securityContext=context)
        yield f"a container without {what}", pod({**container(), "securityContext": context})
    forwards = [{"name": "net.ipv4.ip_forward", "value": "1"}]
    yield "a sysctl", pod(container(), securityContext={"sysctls": forwards})
    unmasked = {**container(), "securityContext": {"procMount": "Unmasked"}}
    yield "all of /proc", workflow(pod_template(unmasked))
    annotated = pod(container())
    annotated["metadata"]["annotations"] |= {f"{_APPARMOR}/main": "unconfined"}
    yield "AppArmor by annotation", annotated
    probe = {"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 80}}}
    yield "a probe of another host", pod({**container(), **probe})
    for path in ("/", "/scratch", "/scratchy/pvc-1"):
        yield f"a volume of {path}", _volume(path)


def _held() -> Iterator[tuple[str, Object]]:
    context = {
        "seccompProfile": {"type": "RuntimeDefault"},
        "appArmorProfile": {"type": "RuntimeDefault"},
        "seLinuxOptions": {"type": "container_t", "level": "s0:c1,c2"},
        "sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "4096 87380 6291456"}],
    }
    probe = {"livenessProbe": {"httpGet": {"path": "/", "port": 80}}}
    yield "what baseline allows", pod({**container(), **probe}, securityContext=context)
    unmasked = {**container(), "securityContext": {"procMount": "Unmasked"}}
    yield "all of /proc of its own users", workflow(pod_template(unmasked, hostUsers=False))
    yield "a volume of the scratch disk", _volume("/scratch/pvc-1")


def _volume(path: str) -> Object:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": path},
    }
    return made("v1", "PersistentVolume", spec)


def _by_tag() -> Object:
    volume = {"name": "weights", "image": {"reference": "registry.example/weights:1"}}
    return workflow(pod_template(container(), volumes=[volume]))


def _images(image: str) -> Object:
    return pod({**container(), "image": image})


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield from ((NETWORK, *row) for row in _closed_policies())
    yield from ((RBAC, *row) for row in _modest_grants())
    yield from ((SECRETS, *row) for row in _no_secrets())
    yield SECRETS, "a placeholder for a token", _told("HF_TOKEN", "${HF_TOKEN}")
    yield from ((HOST, *row) for row in _held())
    yield WORLD, "HTTPS behind another port", _service({"port": 443, "targetPort": 8443})
    yield WORLD, "another protocol", _service({"port": 6443, "protocol": "UDP"})
    yield WORLD, "HTTPS at every node", _service({"port": 443}, type="NodePort")
    yield WORLD, "SSH for private networks by annotation", _annotated("10.0.0.0/8,172.16.0.0/12")
    yield WORLD, "SSH for a network with spaces", _annotated(" 10.0.0.0/8 ")
    yield WORLD, "SSH for some by a policy of Cilium", _with_policy("allow")
    private = {"loadBalancerSourceRanges": ["10.0.0.0/8", "172.16.0.0/12"]}
    yield WORLD, "SSH for private networks", _service({"port": 22}, **private)
    yield IMAGE, "a placeholder for an image", _images("${IMAGE}")
    yield UNFILLED, "everything filled in", pod(container())
    yield UNFILLED, "a reference in the pod", _told("HF_TOKEN", "$(TOKEN)")
    yield UNFILLED, "a token of a tokenizer", _told("PAD_TOKEN", "<pad>")
    yield UNFILLED, "another variable", _told("PATH", "${HOME}/bin")


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    yield from ((NETWORK, *row) for row in _open_policies())
    yield from ((WORLD, *row) for row in _services())
    yield WORLD, "SSH for two halves by annotation", _annotated(",".join(HALVES))
    for blank in (" ", "\t\n"):
        yield WORLD, f"SSH for {blank!r}", _annotated(blank)
    yield from ((RBAC, *row) for row in _grants())
    yield from ((SECRETS, *row) for row in _secrets())
    yield from ((HOST, *row) for row in _loosened())
    yield IMAGE, "a volume by tag", _by_tag()
    for value in ("${T}", "$T", "${T:?is missing}", "YOUR_TOKEN", "<HF_token>", "PLACEHOLDER_T"):
        yield UNFILLED, f"a token that is {value}", _told("HF_TOKEN", value)
    for image in ("${IMAGE}", "registry.example/train:$TAG", "{{image}}"):
        yield UNFILLED, f"an image that is {image}", _images(image)
    yield UNFILLED, "a password in a ConfigMap", _map(db_password="${DB_PASSWORD}")


def malformed() -> Iterator[Row]:
    """None: the API server reads all of these."""
    yield from ()
