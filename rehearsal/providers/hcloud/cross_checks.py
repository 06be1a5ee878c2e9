"""The checks of Hetzner Cloud that need several inputs, or the objects of the project."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network
from typing import TypeAlias

from rehearsal.providers.checks import network, number
from rehearsal.providers.cloud import CloudObject
from rehearsal.providers.contract import Failure
from rehearsal.providers.hcloud.facts import (
    NETWORK_ZONE_OF,
    PLACEMENT_GROUP_LIMIT,
    image_architecture,
    server_types,
)
from rehearsal.providers.simulated_type import CloudRequest
from rehearsal.providers.values import Unknown, Value, shown
from settings.names import SERVER

Network: TypeAlias = IPv4Network | IPv6Network

NETWORK = "hcloud:index/network:Network"
SUBNET = "hcloud:index/networkSubnet:NetworkSubnet"
PRIMARY_IP = "hcloud:index/primaryIp:PrimaryIp"


def subnets_of(request: CloudRequest, network_id: Value) -> list[CloudObject]:
    """The subnets that a network has."""
    wanted = number(network_id)
    return [
        thing
        for thing in request.cloud.all(SUBNET)
        if wanted is not None and number(thing.inputs.get("networkId")) == wanted
    ]


def subnet_fits(request: CloudRequest) -> Iterator[Failure]:
    """A subnet must lie in its network's range, and a vSwitch in eu-central."""
    own, id_ = network(request.inputs.get("ipRange")), number(request.inputs.get("networkId"))
    parent = request.cloud.get(NETWORK, str(id_)) if id_ is not None else None
    if id_ is not None and parent is None:
        yield Failure(
            path="networkId", sentence=f"networkId is {id_}, but there is no such network."
        )
    whole = network(parent.inputs.get("ipRange")) if parent else None
    if own and whole and not _inside(own, whole):
        yield Failure(
            path="ipRange",
            sentence=f"ipRange is {own}, but it must lie in the network's range {whole}.",
        )
    if request.inputs.get("type") == "vswitch":
        if request.inputs.get("vswitchId") is None:
            yield Failure(path="vswitchId", sentence="vswitchId is missing: type is vswitch.")
        zone = request.inputs.get("networkZone")
        if zone != "eu-central" and not isinstance(zone, Unknown):
            yield Failure(
                path="networkZone",
                sentence=f"networkZone is {shown(zone)}, but a vswitch must be in eu-central.",
            )


def subnet_is_free(request: CloudRequest) -> Iterator[Failure]:
    """The subnets of a network must not overlap."""
    own = network(request.inputs.get("ipRange"))
    for other in subnets_of(request, request.inputs.get("networkId")):
        taken = network(other.inputs.get("ipRange"))
        if other.id != request.id and own and taken and own.overlaps(taken):
            yield Failure(
                path="ipRange", sentence=f"ipRange is {own}, which overlaps the subnet {taken}."
            )


def server_is_whole(request: CloudRequest) -> Iterator[Failure]:
    """A server must have an image of its architecture, and both protections or none."""
    inputs = request.inputs
    if inputs.get("image") is None:
        yield Failure(path="image", sentence="image is missing: no server can be made without one.")
    type_ = server_types().get(str(inputs.get("serverType")))
    wanted = image_architecture(str(inputs.get("image")))
    if type_ and wanted and type_.architecture != wanted:
        yield Failure(
            path="image",
            sentence=f"image is {shown(inputs['image'])}, which is for {wanted}, but the server "
            f"type {inputs['serverType']} is {type_.architecture}.",
        )
    protections = {bool(inputs.get(name)) for name in ("deleteProtection", "rebuildProtection")}
    if len(protections) > 1:
        yield Failure(
            path="rebuildProtection",
            sentence=f"rebuildProtection is {shown(inputs.get('rebuildProtection'))}, but it must "
            f"be the same as deleteProtection, {shown(inputs.get('deleteProtection'))}.",
        )


def server_has_room(request: CloudRequest) -> Iterator[Failure]:
    """The placement group must have room, and each network a subnet in the server's zone."""
    group = number(request.inputs.get("placementGroupId"))
    members = [
        thing
        for thing in request.cloud.all(SERVER)
        if group is not None
        and thing.id != request.id
        and number(thing.inputs.get("placementGroupId")) == group
    ]
    if len(members) >= PLACEMENT_GROUP_LIMIT:
        yield Failure(
            path="placementGroupId",
            sentence=f"placementGroupId is {group}, a group that has {len(members)} servers "
            f"already; {PLACEMENT_GROUP_LIMIT} is the most.",
        )
    networks = request.inputs.get("networks")
    for index, wanted in enumerate(networks if isinstance(networks, list) else []):
        if isinstance(wanted, dict):
            yield from _reachable(request, wanted, f"networks[{index}]")
            yield from _in_zone(request, wanted, f"networks[{index}].subnetId")


def public_address_is_free(request: CloudRequest) -> Iterator[Failure]:
    """A primary IP must exist in the server's location, and no other server may have it."""
    for index, family, id_ in primary_ips(request.inputs):
        path = f"publicNets[{index}].{family}"
        found = request.cloud.get(PRIMARY_IP, str(id_))
        if found is None:
            yield Failure(path=path, sentence=f"{path} is {id_}, but there is no such primary IP.")
        elif found.outputs.get("location") != request.inputs.get("location"):
            yield Failure(
                path=path,
                sentence=f"{path} is {id_}, a primary IP in {found.outputs.get('location')}, but "
                f"the server is in {request.inputs.get('location')}.",
            )
        for other in request.cloud.all(SERVER):
            taken = [own for *_, own in primary_ips(other.inputs)]
            if other.id != request.id and id_ in taken:
                yield Failure(
                    path=path, sentence=f"{path} is {id_}, which the server {other.name} has."
                )


def primary_ips(server: Mapping[str, Value]) -> Iterator[tuple[int, str, int]]:
    """The primary IPs of a server: index in `publicNets`, `ipv4` or `ipv6`, and id."""
    public = server.get("publicNets")
    for index, net in enumerate(public if isinstance(public, list) else []):
        for family in ("ipv4", "ipv6"):
            id_ = number(net.get(family)) if isinstance(net, dict) else None
            if id_ is not None:
                yield index, family, id_


def attachment_is_reachable(request: CloudRequest) -> Iterator[Failure]:
    """The attached network must have a subnet."""
    yield from _reachable(request, request.inputs, "")


def balancer_has_one_place(request: CloudRequest) -> Iterator[Failure]:
    """A load balancer must have either a location or a network zone."""
    given = [name for name in ("location", "networkZone") if request.inputs.get(name) is not None]
    if len(given) != 1:
        yield Failure(
            path="location",
            sentence="location and networkZone are "
            + ("both given" if given else "missing")
            + ", but a load balancer must have exactly one of them.",
        )


def service_is_whole(request: CloudRequest) -> Iterator[Failure]:
    """A tcp service must have ports, an https service certificates."""
    protocol, http = request.inputs.get("protocol"), request.inputs.get("http")
    for name in ("listenPort", "destinationPort"):
        if protocol == "tcp" and request.inputs.get(name) is None:
            yield Failure(path=name, sentence=f"{name} is missing: a tcp service must have it.")
    if protocol == "https" and not (isinstance(http, dict) and http.get("certificates")):
        yield Failure(
            path="http.certificates",
            sentence="http.certificates is missing: an https service must have a certificate.",
        )


def target_is_one(request: CloudRequest) -> Iterator[Failure]:
    """A target must have exactly the input that its type needs."""
    wanted = {"server": "serverId", "label_selector": "labelSelector", "ip": "ip"}
    own = wanted.get(request.text("type"))
    given = [name for name in wanted.values() if request.inputs.get(name) is not None]
    if own and given != [own]:
        has = " and ".join(given) or "none"
        yield Failure(
            path=own,
            sentence=f"a target of type {request.text('type')} must have {own} alone, but has "
            f"{has}.",
        )


def _reachable(request: CloudRequest, wanted: dict[str, Value], path: str) -> Iterator[Failure]:
    subnet, id_ = wanted.get("subnetId"), wanted.get("networkId")
    where = f"{path}." if path else ""
    if isinstance(subnet, str) and request.cloud.get(SUBNET, subnet) is None:
        yield Failure(
            path=f"{where}subnetId",
            sentence=f'{where}subnetId is "{subnet}", but there is no such subnet.',
        )
    if subnet is None and number(id_) is not None and not subnets_of(request, id_):
        yield Failure(
            path=f"{where}networkId",
            sentence=f"{where}networkId is {number(id_)}, a network without a subnet: depend on a "
            "NetworkSubnet, or give its subnetId.",
        )


def _in_zone(request: CloudRequest, wanted: dict[str, Value], path: str) -> Iterator[Failure]:
    subnet = request.cloud.get(SUBNET, str(wanted.get("subnetId")))
    zone = NETWORK_ZONE_OF.get(request.text("location"))
    if subnet and zone and subnet.inputs.get("networkZone") != zone:
        yield Failure(
            path=path,
            sentence=f"{path} is {shown(subnet.id)} in {subnet.inputs.get('networkZone')}, but the "
            f"server's location {request.text('location')} is in {zone}.",
        )


def _inside(own: Network, whole: Network) -> bool:
    if isinstance(own, IPv4Network) and isinstance(whole, IPv4Network):
        return own.subnet_of(whole)
    return False
