"""Policies and groups of Cilium that let everybody in, and what only looks like one."""

from collections.abc import Iterator

from tests.rehearsal.admission.cases_spelling import HALVES, NETWORK, Row, said
from tests.support.admission.objects import Object, made


def _cilium(*ingress: Object, kind: str = "CiliumNetworkPolicy", **spec: object) -> Object:
    whole = {"endpointSelector": {}, "ingress": list(ingress), **spec}
    return made("cilium.io/v2", kind, whole)


_SPACE = "k8s:io.kubernetes.pod.namespace"


def _open_to_cilium() -> Iterator[tuple[str, Object]]:
    wide = "CiliumClusterwideNetworkPolicy"
    for entity in ("all", "world", "cluster"):
        yield f"{entity} of Cilium", _cilium({"fromEntities": [entity]})
    yield "all of the cluster", _cilium({"fromEntities": ["all"]}, kind=wide)
    yield "halves of Cilium", _cilium({"fromCIDR": HALVES})
    most = [{"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}]
    yield "most of Cilium", _cilium({"fromCIDRSet": most})
    anybody = {"fromEndpoints": [said(_SPACE, "Exists")]}
    yield "all namespaces of Cilium", _cilium(anybody)
    yield "any endpoint of the cluster", _cilium({"fromEndpoints": [{}]}, kind=wide)
    ports = {"toPorts": [{"ports": [{"port": "1", "endPort": 65535, "protocol": "TCP"}]}]}
    yield "all ports of Cilium", _cilium(ports)
    for what, selector in _spellings_of_everybody():
        yield f"{what} of Cilium", _cilium({"fromEndpoints": [selector]})
    yield "a group of everybody", group("10.0.0.0/8", "0.0.0.0/0", "::/0")
    yield "a group of halves", group(*HALVES)
    specs = _cilium()
    specs["specs"] = [specs.pop("spec"), _cilium({"fromEntities": ["world"]})["spec"]]
    yield "the second part of Cilium", specs
    own = {"matchLabels": {_SPACE: "desk"}}
    yield (
        "a namespace of Cilium",
        _cilium({"fromEntities": ["all"]}, kind=wide, endpointSelector=own),
    )


def _spellings_of_everybody() -> Iterator[tuple[str, Object]]:
    """Selectors of Cilium's peers that are everybody, in other words than the entities."""
    for label in ("reserved:world", "reserved:world-ipv4", "reserved:all"):
        yield label, {"matchLabels": {label: ""}}
        yield f"{label} that is there", said(label, "Exists")
    yield "one of the world", said("reserved:world", "In", "")
    yield "all but the host", said("reserved:host", "DoesNotExist")
    for prefix in ("", "any:", "k8s:"):
        space = f"{prefix}io.kubernetes.pod.namespace"
        yield f"pods of {prefix or 'any'} namespaces", said(space, "Exists")
        yield f"all but one of {prefix or 'any'} namespaces", said(space, "NotIn", "none")
    yield "what has no namespace", said("io.kubernetes.pod.namespace", "DoesNotExist")


def _spellings_of_some() -> Iterator[tuple[str, Object]]:
    """Selectors of Cilium's peers that only look like everybody."""
    for label in ("reserved:host", "reserved:remote-node", "reserved:health"):
        yield label, {"matchLabels": {label: ""}}
        yield f"{label} that is there", said(label, "Exists")
    yield "a pod called world", {"matchLabels": {"world": ""}}
    yield "any namespace of a name", {"matchLabels": {"any:io.kubernetes.pod.namespace": "desk"}}
    yield "a part of any namespace", said("any:io.kubernetes.pod.namespace", "In", "desk")
    yield "others of its namespace", said("app", "NotIn", "web")


def group(*cidrs: str) -> Object:
    """A group of addresses."""
    return made("cilium.io/v2", "CiliumCIDRGroup", {"externalCIDRs": list(cidrs)})


def _closed_to_cilium() -> Iterator[tuple[str, Object]]:
    for what, selector in _spellings_of_some():
        yield f"{what} of Cilium", _cilium({"fromEndpoints": [selector]})
    yield "a group of networks", group("10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32")
    yield "a group of nothing", group()
    yield "nobody of Cilium", _cilium({})
    yield "its own of Cilium", _cilium({"fromEndpoints": [{}]})
    yield "hosts of Cilium", _cilium({"fromEntities": ["host", "kube-apiserver"]})
    sets = [{"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}]
    yield "a network of Cilium", _cilium({"fromCIDR": ["10.0.0.0/8"], "fromCIDRSet": sets})
    ports = [{"ports": [{"port": "443", "protocol": "TCP"}]}]
    yield "a port of Cilium", _cilium({"fromEntities": ["world"], "toPorts": ports})
    web = {"matchLabels": {"app": "web"}}
    yield "some of Cilium", _cilium({"fromEntities": ["all"]}, endpointSelector=web)


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield from ((NETWORK, *row) for row in _closed_to_cilium())


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    yield from ((NETWORK, *row) for row in _open_to_cilium())


def malformed() -> Iterator[Row]:
    """None: the API server reads all of these."""
    yield from ()
