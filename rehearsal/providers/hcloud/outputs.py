"""What Hetzner Cloud gives back for what it makes: addresses, ids, defaults.

Addresses come from ranges that no real machine has: 198.18.0.0/15 (RFC 2544) and 2001:db8::/32.
"""

from __future__ import annotations

import base64
import hashlib
from ipaddress import IPv4Address, IPv4Network
from itertools import islice
from typing import TYPE_CHECKING

from rehearsal.providers.checks import network, number
from rehearsal.providers.hcloud.facts import NETWORK_ZONE_OF, server_types
from rehearsal.providers.hcloud.judges import (
    NETWORK,
    PRIMARY_IP,
    SERVER,
    SUBNET,
    primary_ips,
    subnets_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rehearsal.providers.kinds import Asked
    from rehearsal.providers.values import Properties

LOAD_BALANCER_NETWORK = "hcloud:index/loadBalancerNetwork:LoadBalancerNetwork"
SERVER_NETWORK = "hcloud:index/serverNetwork:ServerNetwork"
FIRST_PUBLIC = IPv4Address("198.18.0.0")
DEFAULT_LOCATION = "fsn1"


def subnet(asked: Asked) -> Properties:
    """The gateway is the first address of the whole network."""
    parent = asked.cloud.get(NETWORK, asked.text("networkId"))
    whole = network(parent.inputs.get("ipRange")) if parent else None
    return {"gateway": str(whole[1]) if whole else ""}


def server_known(asked: Asked) -> Properties:
    """The state holds a digest in place of the user data, as the real provider's does."""
    user_data = asked.inputs.get("userData")
    if not isinstance(user_data, str):
        return {}
    digest = hashlib.sha1(user_data.encode(), usedforsecurity=False).digest()
    return {"userData": base64.b64encode(digest).decode()}


def primary_ip(asked: Asked) -> Properties:
    """An address that outlives the server that has it."""
    own = number(asked.id) or 0
    ipv6 = asked.text("type") == "ipv6"
    return {
        "ipAddress": f"2001:db8:1:{own & 0xFFFF:x}::1" if ipv6 else str(FIRST_PUBLIC + own),
        "ipNetwork": f"2001:db8:1:{own & 0xFFFF:x}::/64" if ipv6 else "",
        "assigneeId": asked.inputs.get("assigneeId") or 0,
        "datacenter": "",
        "location": asked.text("location", DEFAULT_LOCATION),
    }


def server(asked: Asked) -> Properties:
    """Public addresses, and a private one in each network."""
    own = number(asked.id) or 0
    type_ = server_types()[asked.text("serverType")]
    networks = asked.inputs.get("networks")
    items = networks if isinstance(networks, list) else []
    return {
        "ipv4Address": _public_address(asked) or str(FIRST_PUBLIC + own),
        "ipv6Address": f"2001:db8:0:{own & 0xFFFF:x}::1",
        "ipv6Network": f"2001:db8:0:{own & 0xFFFF:x}::/64",
        "status": "running",
        "primaryDiskSize": type_.disk_gb,
        "backupWindow": "",
        "datacenter": "",
        "location": asked.text("location", DEFAULT_LOCATION),
        "firewallIds": asked.inputs.get("firewallIds") or [],
        "networks": [
            {**item, **_attachment(asked, item)} for item in items if isinstance(item, dict)
        ],
    }


def _public_address(asked: Asked) -> str | None:
    """That of its primary IP, where it names one."""
    for _, family, id_ in primary_ips(asked.inputs):
        found = asked.cloud.get(PRIMARY_IP, str(id_))
        if family == "ipv4" and found is not None:
            return str(found.outputs.get("ipAddress"))
    return None


def attachment(asked: Asked) -> Properties:
    """The private address of what is attached by a resource of its own."""
    made = _attachment(asked, asked.inputs)
    made.pop("subnetId")
    return made


def balancer_attachment(asked: Asked) -> Properties:
    """The private address of a load balancer."""
    made = attachment(asked)
    return {"ip": made["ip"], "networkId": made["networkId"]}


def load_balancer(asked: Asked) -> Properties:
    """Public addresses; where it stands follows from its location or its zone."""
    own = number(asked.id) or 0
    location = asked.text("location") or next(
        name for name, zone in NETWORK_ZONE_OF.items() if zone == asked.text("networkZone")
    )
    return {
        "ipv4": str(FIRST_PUBLIC + own),
        "ipv6": f"2001:db8:0:{own & 0xFFFF:x}::1",
        "networkId": 0,
        "networkIp": "",
        "location": location,
        "networkZone": NETWORK_ZONE_OF[location],
        "algorithm": asked.inputs.get("algorithm") or {"type": "round_robin"},
        "targets": asked.inputs.get("targets") or [],
    }


def service(asked: Asked) -> Properties:
    """Ports and health check that follow from the protocol."""
    protocol = asked.text("protocol")
    listen = number(asked.inputs.get("listenPort")) or {"http": 80, "https": 443}[protocol]
    destination = number(asked.inputs.get("destinationPort")) or 80
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
        "proxyprotocol": asked.inputs.get("proxyprotocol") or False,
        "healthCheck": asked.inputs.get("healthCheck") or check,
        "http": asked.inputs.get("http") or {},
    }


def service_id(asked: Asked) -> str:
    """`<load balancer>__<port>`."""
    return f"{asked.text('loadBalancerId')}__{service(asked)['listenPort']}"


def ssh_key(asked: Asked) -> Properties:
    """The MD5 fingerprint of the key, as Hetzner shows it."""
    blob = base64.b64decode(asked.text("publicKey").split()[1])
    digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    return {"fingerprint": ":".join(digest[at : at + 2] for at in range(0, 32, 2))}


def target_id(asked: Asked) -> str:
    """The parts that make a target what it is."""
    parts = [asked.text(key) for key in ("serverId", "labelSelector", "ip")]
    return f"{asked.text('loadBalancerId')}__{''.join(parts)}"


def _attachment(asked: Asked, wanted: Properties) -> Properties:
    """A free address in the subnet that is wanted, or in the last one of the network."""
    ids = [thing.id for thing in subnets_of(asked, wanted.get("networkId"))]
    thing = asked.cloud.get(SUBNET, str(wanted.get("subnetId") or ids[-1]))
    range_ = network(thing.inputs.get("ipRange")) if thing else None
    if thing is None or not isinstance(range_, IPv4Network):
        raise ValueError(f"the subnet of {asked.id} is gone")
    held = [(id_, text) for id_, text in _addresses(asked) if IPv4Address(text) in range_]
    own = [text for id_, text in held if id_ == asked.id]
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


def _addresses(asked: Asked) -> Iterator[tuple[str, str]]:
    """Every private address that is taken, with the id of what has it."""
    for type_ in (SERVER, SERVER_NETWORK, LOAD_BALANCER_NETWORK):
        for thing in asked.cloud.all(type_):
            networks = thing.outputs.get("networks") if type_ == SERVER else [thing.outputs]
            for item in networks if isinstance(networks, list) else []:
                if isinstance(item, dict) and isinstance(item.get("ip"), str):
                    yield thing.id, str(item["ip"])
