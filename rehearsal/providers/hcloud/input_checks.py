"""The checks of single inputs of Hetzner Cloud; the limits are its API's and its provider's."""

import base64
import binascii
import ipaddress
import re

from rehearsal.providers.checks import (
    Check,
    InputCheck,
    address,
    at_most_kib,
    cidr,
    matching,
    network,
    never,
    one_of,
    whole_number,
)
from rehearsal.providers.hcloud.facts import (
    LOAD_BALANCER_TYPES,
    NETWORK_ZONE_OF,
    NETWORK_ZONES,
    SYSTEM_IMAGES,
    USER_DATA_LIMIT_KIB,
    is_image,
    server_types,
)
from rehearsal.providers.values import Unknown, Value

PRIVATE = tuple(
    ipaddress.IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)
LABEL_KEY = re.compile(
    r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"


def private_network(longest: int) -> Check:
    """Allows an IPv4 network of RFC 1918 of prefix length up to `longest`."""
    shape = cidr(version=4, longest=longest)

    def check(value: Value) -> str | None:
        parsed = network(value)
        if wrong := shape(value):
            return wrong
        inside = isinstance(parsed, ipaddress.IPv4Network) and any(
            parsed.subnet_of(range_) for range_ in PRIVATE
        )
        ranges = ", ".join(map(str, PRIVATE))
        return None if inside else f"it must lie in one of the private ranges {ranges}"

    return check


def labels(value: Value) -> str | None:
    """Allows the labels that the API accepts."""
    for key, text in value.items() if isinstance(value, dict) else ():
        if not LABEL_KEY.fullmatch(key):
            return f'the key "{key}" is not of the form [prefix/]name, at most 63 characters'
        if not isinstance(text, Unknown) and not LABEL_VALUE.fullmatch(str(text)):
            return (
                f'the value of "{key}" must have at most 63 letters, digits, hyphens, dots or '
                "underscores, and begin and end with a letter or digit"
            )
    return None


def ports(value: Value) -> str | None:
    """Allows a port, a range of ports, or `any`."""
    found = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", str(value))
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    good = value == "any" or 1 <= low <= high <= 65535
    return None if good else "it must be a port such as 80, a range such as 80-85, or any"


def firewall_source(value: Value) -> str | None:
    """Allows an address, or a network without host bits."""
    return (
        None
        if network(value) or address(value) is None
        else ("it must be an IP address, or a network without host bits such as 10.20.0.0/16")
    )


def firewall_rule(value: Value) -> str | None:
    """Allows a firewall rule with the ports and addresses that its protocol and direction need."""
    if not isinstance(value, dict):
        return None
    protocol, direction = value.get("protocol"), value.get("direction")
    has_port = value.get("port") is not None
    if protocol in {"tcp", "udp"} and not has_port:
        return f"a rule for {protocol} must have a port"
    if protocol in {"icmp", "esp", "gre"} and has_port:
        return f"a rule for {protocol} must not have a port"
    side = {"in": "sourceIps", "out": "destinationIps"}.get(str(direction))
    if side and not value.get(side):
        return f'a rule of direction "{direction}" must have {side}'
    return None


def server_network(value: Value) -> str | None:
    """Allows a network of a server that names a subnet or a network."""
    if not isinstance(value, dict):
        return None
    given = [key for key in ("subnetId", "networkId") if value.get(key) is not None]
    return None if given else "it must have subnetId or networkId"


def image(value: Value) -> str | None:
    """Allows an image that the project has."""
    if is_image(str(value)):
        return None
    names = ", ".join(SYSTEM_IMAGES)
    return f"it must be the id of a Flatcar snapshot, as getImage gives it, or one of {names}"


def server_type(value: Value) -> str | None:
    """Allows a server type of Hetzner Cloud or of the hardware catalogue."""
    return one_of(*server_types())(value)


def public_key(value: Value) -> str | None:
    """Allows an OpenSSH public key."""
    found = re.match(r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-\S+|sk-\S+) (\S+)", str(value))
    try:
        blob = base64.b64decode(found[2], validate=True) if found else b""
    except binascii.Error:
        blob = b""
    kind = found[1].encode() if found else b"?"
    good = blob[4:].startswith(kind)
    return None if good else "it must be an OpenSSH public key such as ssh-ed25519 AAAA... name"


host_name = matching(
    rf"(?=.{{1,253}}$){LABEL}(\.{LABEL})*",
    "a host name of RFC 1123: letters, digits and hyphens, at most 63 in a part",
)
location = one_of(*NETWORK_ZONE_OF)
network_zone = one_of(*NETWORK_ZONES)
port_number = whole_number(1, 65535)
subnet_id = matching(
    r"\d+-[0-9.]+/\d+", "<network id>-<subnet range>, as NetworkSubnet.id gives it"
)
LABELS = InputCheck("labels", labels)

NETWORK = (InputCheck("ipRange", private_network(24)), LABELS)
NETWORK_SUBNET = (
    InputCheck("type", one_of("cloud", "server", "vswitch")),
    InputCheck("networkZone", network_zone),
    InputCheck("ipRange", private_network(30)),
)
NETWORK_ROUTE = (InputCheck("destination", cidr(version=4)), InputCheck("gateway", address))
FIREWALL = (
    InputCheck("rules[*].direction", one_of("in", "out")),
    InputCheck("rules[*].protocol", one_of("tcp", "udp", "icmp", "esp", "gre")),
    InputCheck("rules[*].port", ports),
    InputCheck("rules[*].sourceIps[*]", firewall_source),
    InputCheck("rules[*].destinationIps[*]", firewall_source),
    InputCheck("rules[*]", firewall_rule),
    LABELS,
)
SERVER = (
    InputCheck("name", host_name),
    InputCheck("serverType", server_type),
    InputCheck("image", image),
    InputCheck("location", location),
    InputCheck("datacenter", never("Hetzner has removed datacenters: give location")),
    InputCheck("userData", at_most_kib(USER_DATA_LIMIT_KIB, "Hetzner takes no more user data")),
    InputCheck("networks[*]", server_network),
    InputCheck("networks[*].subnetId", subnet_id),
    InputCheck("networks[*].ip", address),
    InputCheck("rescue", one_of("linux64", "linux32")),
    LABELS,
)
SERVER_NETWORK = (InputCheck("subnetId", subnet_id), InputCheck("ip", address))
PRIMARY_IP = (
    InputCheck("type", one_of("ipv4", "ipv6")),
    InputCheck("assigneeType", one_of("server")),
    InputCheck("location", location),
    InputCheck("datacenter", never("Hetzner has removed datacenters: give location")),
    LABELS,
)
PLACEMENT_GROUP = (InputCheck("type", one_of("spread")), LABELS)
SSH_KEY = (InputCheck("publicKey", public_key), LABELS)
LOAD_BALANCER = (
    InputCheck("loadBalancerType", one_of(*LOAD_BALANCER_TYPES)),
    InputCheck("location", location),
    InputCheck("networkZone", network_zone),
    InputCheck("algorithm.type", one_of("round_robin", "least_connections")),
    LABELS,
)
LOAD_BALANCER_SERVICE = (
    InputCheck("protocol", one_of("http", "https", "tcp")),
    InputCheck("listenPort", port_number),
    InputCheck("destinationPort", port_number),
    InputCheck("healthCheck.protocol", one_of("http", "https", "tcp")),
    InputCheck("healthCheck.port", port_number),
)
LOAD_BALANCER_TARGET = (
    InputCheck("type", one_of("server", "label_selector", "ip")),
    InputCheck("ip", address),
)
