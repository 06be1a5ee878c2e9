"""The gateway of a site: a server at Hetzner to which each machine of the site has a tunnel."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

import pulumi
import pulumi_hcloud as hcloud

from components.network.hetzner import HetznerNetwork
from components.pools.boot import SAMPLE_KEY, PoolError, generation
from components.pools.snapshot import snapshot
from hardware.catalogue import Hardware
from ignition.write.gateway import GatewayBoot, LocksmithWindow, gateway_ignition, secret_ignition
from ignition.write.payload import HETZNER_LIMIT_BYTES, Merge, PayloadError, data_url, fit
from ignition.write.wireguard import Peer, WireGuard, WireGuardKey
from settings.names import BOOT_LABEL, labels, tags

REBOOTS = LocksmithWindow(start="Sun 03:00", length="1h")
"""In UTC; no cluster drains a gateway. While it reboots, no machine of the site can join, and jobs
go on."""


@dataclass(frozen=True, kw_only=True)
class TunnelPeer:
    """A machine of the site: its address in the tunnel and its public key."""

    address: str
    public_key: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class GatewayArgs:
    """The gateway of `site` in the Hetzner network `network`.

    `title` is the name of the site in the stack file.
    `number` counts the gateways in that network from 1. `port` is the gateway's UDP port, `tunnel`
    the range of the tunnel, whose first address is the gateway's.
    """

    cluster: str
    site: str
    title: str
    name: str
    network: HetznerNetwork
    number: int
    hardware: Hardware
    flatcar: str
    tunnel: str
    port: int
    private_key: pulumi.Input[str] = field(repr=False)
    peers: Sequence[TunnelPeer]


class Gateway(pulumi.ComponentResource):
    """A server, a firewall that opens the tunnel's port and ICMP, and a route to the machines.

    The server is replaced when its boot data changes, as when a machine is added. Its public
    address stays, because machines resolve the name of the endpoint only at boot.
    """

    address: pulumi.Output[str]

    def __init__(
        self, name: str, args: GatewayArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        _refuse_too_many(args)
        public_keys = pulumi.Output.all(*(peer.public_key for peer in args.peers))
        plain = pulumi.Output.unsecret(public_keys.apply(lambda keys: _plain(args, keys)))
        shown = {"site": args.site, "hardware": args.hardware.name, "ignition": plain}
        super().__init__("gpu:network:Gateway", name, shown, opts)
        tagged = tags(args.cluster, labels(site=args.site))
        public = self._public_address(name, args, tagged)
        private_address = str(IPv4Network(args.network.servers_cidr)[-1 - args.number])
        image = gateway_image(args, pulumi.InvokeOptions(parent=self))
        server = hcloud.Server(
            f"{name}-server",
            name=args.name,
            server_type=args.hardware.name,
            image=image,
            location=args.network.location,
            user_data=_user_data(args, plain),
            public_nets=[_public(public)],
            networks=[_private(args, private_address)],
            firewall_ids=[self._firewall(name, args, tagged).id.apply(int)],
            labels={
                # a pool of one machine
                **tags(args.cluster, labels(site=args.site, pool=args.name)),
                BOOT_LABEL: gateway_generation(args, image),
            },
            # names and addresses are unique, so the old one goes first
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )
        hcloud.NetworkRoute(
            f"{name}-route",
            network_id=args.network.network_id,
            destination=args.tunnel,
            gateway=private_address,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[server]),
        )
        self.address = public.ip_address
        self.register_outputs({"address": self.address})

    def _public_address(
        self, name: str, args: GatewayArgs, tagged: dict[str, str]
    ) -> hcloud.PrimaryIp:
        return hcloud.PrimaryIp(
            f"{name}-address",
            name=args.name,
            type="ipv4",
            assignee_type="server",
            location=args.network.location,
            auto_delete=False,
            labels=tagged,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _firewall(self, name: str, args: GatewayArgs, tagged: dict[str, str]) -> hcloud.Firewall:
        everybody = ["0.0.0.0/0", "::/0"]  # WireGuard does not answer without a key
        return hcloud.Firewall(
            f"{name}-firewall",
            name=args.name,
            labels=tagged,
            rules=[
                hcloud.FirewallRuleArgs(
                    direction="in", protocol="udp", port=str(args.port), source_ips=everybody
                ),
                hcloud.FirewallRuleArgs(direction="in", protocol="icmp", source_ips=everybody),
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )


def gateway_image(args: GatewayArgs, opts: pulumi.InvokeOptions) -> str:
    """Return the id of the image of a gateway; raises PoolError where there is none."""
    return snapshot(f"the gateway of site {args.title}", args.hardware, args.flatcar, opts)


def gateway_generation(args: GatewayArgs, image: str) -> str:
    """Return the digest of what a gateway is made from, but for the keys of tunnels."""
    hardware, location = args.hardware.name, args.network.location
    return generation(hardware, location, image, args.name, _plain(args, _samples(args)))


def _samples(args: GatewayArgs) -> list[str]:
    """Return a made-up public key for each machine."""
    digests = (hashlib.sha256(peer.address.encode()).digest() for peer in args.peers)
    return [base64.b64encode(digest).decode() for digest in digests]


def _plain(args: GatewayArgs, public_keys: Sequence[str]) -> str:
    network = IPv4Network(args.tunnel)
    peers = tuple(
        Peer(public_key=key, allowed_ips=(f"{peer.address}/32",))
        for peer, key in zip(args.peers, public_keys, strict=True)
    )
    wireguard = WireGuard(
        address=f"{network[1]}/{network.prefixlen}", peers=peers, listen_port=args.port
    )
    return gateway_ignition(GatewayBoot(wireguard=wireguard, reboot_window=REBOOTS))


def _user_data(args: GatewayArgs, plain: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return the user data, which is secret because it contains the private key."""
    key = pulumi.Output.secret(args.private_key)
    return pulumi.Output.all(plain, key).apply(lambda known: _fitting(args, known[0], known[1]))


def _fitting(args: GatewayArgs, plain: str, private_key: str) -> str:
    secret = secret_ignition(WireGuardKey(private_key=private_key), args.name)
    try:
        merge = Merge(source=data_url(secret))
        return fit(plain, (merge,), limit_bytes=HETZNER_LIMIT_BYTES).user_data
    except PayloadError as error:
        raise PoolError(f"the gateway of site {args.title}: {error}.") from error


def _refuse_too_many(args: GatewayArgs) -> None:
    """Raise PoolError for more machines than user data has room for, before anything is made."""
    _fitting(args, _plain(args, _samples(args)), SAMPLE_KEY)


def _public(address: hcloud.PrimaryIp) -> hcloud.ServerPublicNetArgs:
    return hcloud.ServerPublicNetArgs(
        ipv4_enabled=True, ipv4=address.id.apply(int), ipv6_enabled=False
    )


def _private(args: GatewayArgs, address: str) -> hcloud.ServerNetworkArgs:
    return hcloud.ServerNetworkArgs(subnet_id=args.network.subnet_id, ip=address, alias_ips=[])
