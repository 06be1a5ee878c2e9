"""SSH, the API server, etcd and the kubelet must not be reached from everywhere.

The rule reads firewalls of Hetzner, security groups of AWS, the endpoint of an EKS cluster and
Services with a load balancer. Open to everybody means a range of all addresses, or a Service
without ranges. A server of Hetzner has no firewall unless the program gives it one.
"""

from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_object
from policies.language.manifest import at, describe, items, mapping
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
_TCP = ("tcp", "6", "-1", "all")
_SERVICE = "must not open a port of SSH or of the control plane to everybody."


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
    elif kind == "Service" and manifest.get("apiVersion") == "v1" and _is_open(spec, settings):
        faults = iter([_SERVICE])
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
    return any(str(each).endswith("/0") for each in items(ranges))


def _has_open_endpoint(network: object) -> bool:
    ranges = at(network, "publicAccessCidrs")
    is_public = at(network, "endpointPublicAccess") is not False
    return is_public and (not items(ranges) or _is_world(ranges))


def _is_open(spec: Mapping[str, object], settings: Settings) -> bool:
    ranges = spec.get("loadBalancerSourceRanges")
    if spec.get("type") != "LoadBalancer" or (items(ranges) and not _is_world(ranges)):
        return False
    return any(at(port, "port") in items(settings["ports"]) for port in items(spec.get("ports")))


KINDS: tuple[Kind, ...] = (("", "services"),)
_RANGES = "object.spec.?loadBalancerSourceRanges.orValue([])"
_GUARDED = cel.setting(ID, "ports")

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
        "object.spec.?type.orValue('ClusterIP') == 'LoadBalancer'",
        [
            Fault(
                broken=(
                    f"(size({_RANGES}) == 0 || {_RANGES}.exists(r, r.endsWith('/0'))) && "
                    f"object.spec.?ports.orValue([]).exists(p, p.port in {_GUARDED})"
                ),
                says=cel.literal(_SERVICE),
            )
        ],
    ),
)
