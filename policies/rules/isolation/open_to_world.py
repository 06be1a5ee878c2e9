"""SSH, the API server, etcd and the kubelet must not be reached from everywhere.

The rule reads firewalls of Hetzner, security groups of AWS, the endpoint of an EKS cluster and
Services with a load balancer or a port of the nodes. Open to everybody means ranges that cover a
sixteenth of all addresses or more, in one piece or several, or a Service without ranges; ports of
the nodes have none. Ranges that Cilium reads as those to deny are none, and so is what the load
balancers of an environment do not hold to: Hetzner's know no ranges. The ports of the nodes behind
a load balancer are the firewall's to close: Cilium holds ranges at the balancer's address. A
Service opens a port by its own number, by that of the container, or by the name that IANA gives it
(`ssh`, `etcd-client`, `etcd-server`). With `externalIPs` whoever makes a Service takes the traffic
for any address, so it may have none. A server of Hetzner has no firewall unless the program gives
it one.
"""

from collections.abc import Iterator, Mapping, Sequence

from policies.language import cel, cidrs
from policies.language.cel_forms import Fault, of_object
from policies.language.manifest import at, describe, items, mapping
from policies.language.pool_table import facts
from policies.language.rule import Kind, Manifest, Rule, Settings
from settings.names import SERVER

ID = "isolation/open-to-world"
_FIREWALL = "hcloud:index/firewall:Firewall"
_GROUP = "aws:ec2/securityGroup:SecurityGroup"
_GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
_INGRESS_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_CLUSTER = "aws:eks/cluster:Cluster"
_OPEN = "must not open port {} to everybody."
_NO_FIREWALL = "must have a firewall."
_ENDPOINT = "must not open its API to everybody: set publicAccessCidrs or endpointPublicAccess."
_NO_TCP = ("UDP", "SCTP")
_TCP = ("tcp", "6", "-1", "all")
_SERVICE = "must not open a port of SSH or of the control plane to everybody."
_EXTERNAL = "must not take traffic for addresses of its own choice by externalIPs."
_NAMED = {"ssh": 22, "etcd-client": 2379, "etcd-server": 2380}
_DENIED = "service.cilium.io/src-ranges-policy"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the guarded ports that are open to everybody."""
    kind, spec = manifest.get("kind"), mapping(manifest.get("spec"))
    faults: Iterator[str] = iter(())
    if kind == _FIREWALL:
        faults = _ports(map(_hetzner, items(spec.get("rules"))), settings)
    elif kind == SERVER and not items(spec.get("firewallIds")):
        faults = iter([_NO_FIREWALL])
    elif kind == _GROUP:
        faults = _ports(map(_aws, items(spec.get("ingress"))), settings)
    elif kind == _INGRESS_RULE or (kind == _GROUP_RULE and spec.get("type") == "ingress"):
        faults = _ports([_aws(spec)], settings)
    elif kind == _CLUSTER and _has_open_endpoint(at(spec, "vpcConfig")):
        faults = iter([_ENDPOINT])
    elif kind == "Service" and manifest.get("apiVersion") == "v1":
        faults = _of_service(manifest, settings)
    return [f"{describe(manifest)} {fault}" for fault in faults]


_Span = tuple[int, int]
_NONE: _Span = (1, 0)


def _ports(spans: Iterator[_Span] | list[_Span], settings: Settings) -> Iterator[str]:
    found = list(spans)
    for port in items(settings["ports"]):
        if any(first <= int(str(port)) <= last for first, last in found):
            yield _OPEN.format(port)


def _hetzner(rule: object) -> _Span:
    """The ports that a rule of a firewall opens to everybody."""
    inwards = at(rule, "direction") == "in" and at(rule, "protocol") == "tcp"
    if not inwards or not _is_world(items(at(rule, "sourceIps"))):
        return _NONE
    port = str(at(rule, "port") or "any")
    if port == "any":
        return (0, 65535)
    first, _, last = port.partition("-")
    return (int(first), int(last or first))


def _aws(rule: object) -> _Span:
    """The ports that a rule of a security group opens to everybody."""
    ranges = (
        *items(at(rule, "cidrBlocks")),
        *items(at(rule, "ipv6CidrBlocks")),
        at(rule, "cidrIpv4"),
        at(rule, "cidrIpv6"),
    )
    protocol = str(at(rule, "protocol") or at(rule, "ipProtocol")).lower()
    if protocol not in _TCP or not _is_world(ranges):
        return _NONE
    first, last = at(rule, "fromPort"), at(rule, "toPort")
    if protocol in ("-1", "all") or first is None or first == -1:
        return (0, 65535)
    return (int(str(first)), int(str(first if last is None else last)))


def _is_world(ranges: object) -> bool:
    return cidrs.share(items(ranges)) >= cidrs.EVERYBODY


def _has_open_endpoint(network: object) -> bool:
    ranges = at(network, "publicAccessCidrs")
    is_public = at(network, "endpointPublicAccess") is not False
    return is_public and (not items(ranges) or _is_world(ranges))


def _of_service(manifest: Manifest, settings: Settings) -> Iterator[str]:
    spec = mapping(manifest.get("spec"))
    if items(spec.get("externalIPs")):
        yield _EXTERNAL
    if not _is_for_everybody(manifest, spec, settings):
        return
    guarded = items(settings["ports"])
    if any(_is_guarded(port, guarded) for port in items(spec.get("ports"))):
        yield _SERVICE


def _is_for_everybody(manifest: Manifest, spec: Mapping[str, object], settings: Settings) -> bool:
    if spec.get("type") != "LoadBalancer":
        return spec.get("type") == "NodePort"
    denied = str(at(manifest, "metadata", "annotations", _DENIED) or "").lower() == "deny"
    if denied or not facts(settings).get("balancers_filter"):
        return True
    said = str(at(manifest, "metadata", "annotations", _RANGES) or "").strip()
    ranges = items(spec.get("loadBalancerSourceRanges")) or said.split(",") * bool(said)
    return not ranges or _is_world(ranges)


def _is_guarded(port: object, guarded: Sequence[object]) -> bool:
    if at(port, "protocol") in _NO_TCP:
        return False
    names = [name for name, number in _NAMED.items() if number in guarded]
    numbers = (at(port, field) for field in ("port", "targetPort", "nodePort"))
    return any(number in guarded for number in numbers) or any(
        at(port, field) in names for field in ("name", "targetPort")
    )


KINDS: tuple[Kind, ...] = (("", "services"),)
_GUARDED = cel.setting(ID, "ports")
_SAID = f"object.metadata.?annotations[?'{_RANGES}'].orValue('').trim()"
_IS_DENIED = f"object.metadata.?annotations[?'{_DENIED}'].orValue('').lowerAscii() == 'deny'"
_HAS = "size(object.spec.?loadBalancerSourceRanges.orValue([])) > 0"
_OF_SERVICE = f"({_HAS} ? object.spec.loadBalancerSourceRanges : {_SAID}.split(','))"
_COVER_ALL = (
    f"({cidrs.cel_share_at_most(_OF_SERVICE)} >= {cidrs.EVERYBODY} && "
    f"{cidrs.cel_share(_OF_SERVICE)} >= {cidrs.EVERYBODY})"
)
_IS_FOR_EVERYBODY = (
    "(object.spec.?type.orValue('') == 'LoadBalancer' ? "
    f"!variables.balancers_filter || {_IS_DENIED} || (!({_HAS}) && {_SAID} == '') || "
    f"{_COVER_ALL} : "
    "object.spec.?type.orValue('') == 'NodePort')"
)
_NUMBER = " || ".join(
    f"dyn(p.?{field}.orValue(0)) in {_GUARDED}" for field in ("port", "targetPort", "nodePort")
)
_NAME = "dyn(p.?name.orValue('')) == n || dyn(p.?targetPort.orValue('')) == n"
_NAMES = cel.literal(_NAMED)
_IS_GUARDED = (
    f"!(p.?protocol.orValue('TCP') in {list(_NO_TCP)}) && ({_NUMBER} || "
    f"{_NAMES}.exists(n, {_NAMES}[n] in {_GUARDED} && ({_NAME})))"
)

RULE = Rule(
    id=ID,
    sentence="SSH and the ports of the control plane must not be open to everybody.",
    why=(
        "Open ports are scanned and attacked all day: a leaked key or a vulnerability of the API "
        "server is then enough to get in."
    ),
    source="https://kubernetes.io/docs/concepts/security/security-checklist/",
    schema={
        "ports": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": 65535},
            "default": [22, 2379, 2380, 6443, 10250],
            "description": "TCP ports of SSH, etcd, the API server and the kubelet.",
        }
    },
    predicate=violations,
    admission=of_object(
        KINDS,
        "true",
        [
            Fault(
                broken="size(object.spec.?externalIPs.orValue([])) > 0",
                says=cel.literal(_EXTERNAL),
            ),
            Fault(
                broken=(
                    f"{_IS_FOR_EVERYBODY} && "
                    f"object.spec.?ports.orValue([]).exists(p, {_IS_GUARDED})"
                ),
                says=cel.literal(_SERVICE),
            ),
        ],
    ),
)
