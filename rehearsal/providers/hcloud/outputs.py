"""The outputs that Hetzner Cloud computes: addresses, ids, defaults.

Addresses come from ranges that no real machine has: 198.18.0.0/15 (RFC 2544) and 2001:db8::/32.
"""

import base64
import hashlib
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import islice

from rehearsal.providers.checks import network, number
from rehearsal.providers.hcloud.cross_checks import (
    NETWORK,
    PRIMARY_IP,
    SUBNET,
    primary_ips,
    subnets_of,
)
from rehearsal.providers.hcloud.facts import NETWORK_ZONE_OF, server_types
from rehearsal.providers.simulated_type import CloudRequest
from rehearsal.providers.values import Properties
from settings.names import SERVER

LOAD_BALANCER_NETWORK = "hcloud:index/loadBalancerNetwork:LoadBalancerNetwork"
SERVER_NETWORK = "hcloud:index/serverNetwork:ServerNetwork"
FIRST_PUBLIC = IPv4Address("198.18.0.0")
DEFAULT_LOCATION = "fsn1"


def subnet(request: CloudRequest) -> Properties:
    """The gateway: the first address of the whole network."""
    parent = request.cloud.get(NETWORK, request.text("networkId"))
    whole = network(parent.inputs.get("ipRange")) if parent else None
    return {"gateway": str(whole[1]) if whole else ""}


def server_known(request: CloudRequest) -> Properties:
    """The digest that stands for the user data in the state, as in the real provider."""
    user_data = request.inputs.get("userData")
    if not isinstance(user_data, str):
        return {}
    digest = hashlib.sha1(user_data.encode(), usedforsecurity=False).digest()
    return {"userData": base64.b64encode(digest).decode()}


def primary_ip(request: CloudRequest) -> Properties:
    """The address of a primary IP; it outlives its server."""
    own = number(request.id) or 0
    ipv6 = request.text("type") == "ipv6"
    return {
        "ipAddress": f"2001:db8:1:{own & 0xFFFF:x}::1" if ipv6 else str(FIRST_PUBLIC + own),
        "ipNetwork": f"2001:db8:1:{own & 0xFFFF:x}::/64" if ipv6 else "",
        "assigneeId": request.inputs.get("assigneeId") or 0,
        "datacenter": "",
        "location": request.text("location", DEFAULT_LOCATION),
    }


def server(request: CloudRequest) -> Properties:
    """A server's public addresses, and a private one in each network."""
    own = number(request.id) or 0
    type_ = server_types()[request.text("serverType")]
    networks = request.inputs.get("networks")
    items = networks if isinstance(networks, list) else []
    return {
        "ipv4Address": _public_address(request) or str(FIRST_PUBLIC + own),
        "ipv6Address": f"2001:db8:0:{own & 0xFFFF:x}::1",
        "ipv6Network": f"2001:db8:0:{own & 0xFFFF:x}::/64",
        "status": "running",
        "primaryDiskSize": type_.disk_gb,
        "backupWindow": "",
        "datacenter": "",
        "location": request.text("location", DEFAULT_LOCATION),
        "firewallIds": request.inputs.get("firewallIds") or [],
        "networks": [
            {**item, **_attachment(request, item)} for item in items if isinstance(item, dict)
        ],
    }


def _public_address(request: CloudRequest) -> str | None:
    """The address of the server's primary IP, if it has one."""
    for _, family, id_ in primary_ips(request.inputs):
        found = request.cloud.get(PRIMARY_IP, str(id_))
        if family == "ipv4" and found is not None:
            return str(found.outputs.get("ipAddress"))
    return None


def attachment(request: CloudRequest) -> Properties:
    """The private address that a ServerNetwork gives its server."""
    made = _attachment(request, request.inputs)
    made.pop("subnetId")
    return made


def balancer_attachment(request: CloudRequest) -> Properties:
    """The private address that a LoadBalancerNetwork gives its load balancer."""
    made = attachment(request)
    return {"ip": made["ip"], "networkId": made["networkId"]}


def load_balancer(request: CloudRequest) -> Properties:
    """A load balancer's public addresses, and its location and zone, each from the other."""
    own = number(request.id) or 0
    location = request.text("location") or next(
        name for name, zone in NETWORK_ZONE_OF.items() if zone == request.text("networkZone")
    )
    return {
        "ipv4": str(FIRST_PUBLIC + own),
        "ipv6": f"2001:db8:0:{own & 0xFFFF:x}::1",
        "networkId": 0,
        "networkIp": "",
        "location": location,
        "networkZone": NETWORK_ZONE_OF[location],
        "algorithm": request.inputs.get("algorithm") or {"type": "round_robin"},
        "targets": request.inputs.get("targets") or [],
    }


def service(request: CloudRequest) -> Properties:
    """A service's ports and health check; the defaults follow from the protocol."""
    protocol = request.text("protocol")
    listen = number(request.inputs.get("listenPort")) or {"http": 80, "https": 443}[protocol]
    destination = number(request.inputs.get("destinationPort")) or 80
    check: Properties = {
        "protocol": "tcp" if protocol == "tcp" else "http",
        "port": destination,
        "interval": 15,
        "timeout": 10,
        "retries": 3,
    }
    return {
        "listenPort": listen,
        "destinationPort": destination,
        "proxyprotocol": request.inputs.get("proxyprotocol") or False,
        "healthCheck": request.inputs.get("healthCheck") or check,
        "http": request.inputs.get("http") or {},
    }


def service_id(request: CloudRequest) -> str:
    """The id of a service: `<load balancer>__<port>`."""
    return f"{request.text('loadBalancerId')}__{service(request)['listenPort']}"


def ssh_key(request: CloudRequest) -> Properties:
    """The MD5 fingerprint of the key, as Hetzner shows it."""
    blob = base64.b64decode(request.text("publicKey").split()[1])
    digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    return {"fingerprint": ":".join(digest[at : at + 2] for at in range(0, 32, 2))}


def target_id(request: CloudRequest) -> str:
    """The id of a target: `<load balancer>__<server, label selector or IP>`."""
    parts = [request.text(key) for key in ("serverId", "labelSelector", "ip")]
    return f"{request.text('loadBalancerId')}__{''.join(parts)}"


def _attachment(request: CloudRequest, wanted: Properties) -> Properties:
    """A free address in the given subnet, or in the last subnet of the network."""
    ids = [thing.id for thing in subnets_of(request, wanted.get("networkId"))]
    thing = request.cloud.get(SUBNET, str(wanted.get("subnetId") or ids[-1]))
    range_ = network(thing.inputs.get("ipRange")) if thing else None
    if thing is None or not isinstance(range_, IPv4Network):
        raise ValueError(f"the subnet of {request.id} is gone")
    held = [(id_, text) for id_, text in _addresses(request) if IPv4Address(text) in range_]
    own = [text for id_, text in held if id_ == request.id]
    taken = {text for _, text in held}
    # The first address is the gateway's; a change keeps the address that the object has.
    free = (str(host) for host in islice(range_.hosts(), 1, None) if str(host) not in taken)
    address = str(wanted.get("ip") or (own[0] if own else next(free)))
    return {
        "ip": address,
        "networkId": number(thing.inputs.get("networkId")),
        "subnetId": wanted.get("subnetId"),
        "aliasIps": wanted.get("aliasIps") or [],
        "macAddress": "86:00:" + IPv4Address(address).packed.hex(":"),
    }


def _addresses(request: CloudRequest) -> Iterator[tuple[str, str]]:
    """Every private address in use, with the id of the object that has it."""
    for type_ in (SERVER, SERVER_NETWORK, LOAD_BALANCER_NETWORK):
        for thing in request.cloud.all(type_):
            networks = thing.outputs.get("networks") if type_ == SERVER else [thing.outputs]
            for item in networks if isinstance(networks, list) else []:
                if isinstance(item, dict) and isinstance(item.get("ip"), str):
                    yield thing.id, str(item["ip"])
