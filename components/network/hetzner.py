"""The private network of a Hetzner location, and the firewall in front of its public addresses."""

from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_hcloud as hcloud

from settings.names import labels, tags

NETWORK_ZONES = {
    "fsn1": "eu-central",
    "nbg1": "eu-central",
    "hel1": "eu-central",
    "ash": "us-east",
    "hil": "us-west",
    "sin": "ap-southeast",
}


@dataclass(frozen=True, kw_only=True)
class HetznerNetworkArgs:
    """`cidr` is the site's range, `location` a Hetzner location such as hel1."""

    cluster: str
    site: str
    cidr: str
    location: str

    def __post_init__(self) -> None:
        if self.location not in NETWORK_ZONES:
            known = ", ".join(NETWORK_ZONES)
            raise ValueError(f'location is "{self.location}"; allowed: {known}.')


class HetznerNetwork(pulumi.ComponentResource):
    """A network with one subnet for servers, and a firewall that lets nothing in but ICMP.

    Nodes speak to each other over private addresses, which a Hetzner firewall never filters. On
    public addresses there is no service of ours, so neither SSH nor an API is open to the world.
    """

    site: str
    location: str
    network_name: str
    network_id: pulumi.Output[int]
    servers_cidr: str
    subnet_id: pulumi.Output[str]
    firewall_id: pulumi.Output[int]

    def __init__(
        self, name: str, args: HetznerNetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:network:HetznerNetwork", name, {"cidr": args.cidr}, opts)
        child = pulumi.ResourceOptions(parent=self)
        named = f"{args.cluster}-{args.site}"
        tagged = tags(args.cluster, labels(site=args.site))
        network = hcloud.Network(
            f"{name}-network", name=named, ip_range=args.cidr, labels=tagged, opts=child
        )
        # half of the range stays free for the vSwitch subnet of dedicated servers
        servers = next(IPv4Network(args.cidr).subnets())
        subnet = hcloud.NetworkSubnet(
            f"{name}-subnet",
            network_id=network.id.apply(int),
            type="cloud",
            network_zone=NETWORK_ZONES[args.location],
            ip_range=str(servers),
            opts=child,
        )
        firewall = hcloud.Firewall(
            f"{name}-firewall",
            name=named,
            labels=tagged,
            rules=[
                hcloud.FirewallRuleArgs(
                    direction="in",
                    protocol="icmp",  # path MTU discovery breaks without it
                    source_ips=["0.0.0.0/0", "::/0"],
                )
            ],
            opts=child,
        )
        self.site = args.site
        self.location = args.location
        self.network_name = named
        self.network_id = network.id.apply(int)
        self.servers_cidr = str(servers)
        self.subnet_id = subnet.id
        self.firewall_id = firewall.id.apply(int)
        self.register_outputs({"subnetId": self.subnet_id, "firewallId": self.firewall_id})
