"""A pool of Hetzner Cloud servers that boot Flatcar from a snapshot."""

from dataclasses import dataclass

import pulumi
import pulumi_hcloud as hcloud

from components.network.hetzner import HetznerNetwork
from components.pools.boot import PoolBoot, user_data
from components.pools.snapshot import snapshot
from ignition.write.payload import HETZNER_LIMIT_BYTES
from settings.names import tags
from settings.pools import HetznerPoolSettings

SERVERS_PER_PLACEMENT_GROUP = 10  # Hetzner's limit for a spread group


@dataclass(frozen=True, kw_only=True)
class HetznerPoolArgs:
    """`pool` is the pool as the stack file declares it; its servers are in `network`."""

    boot: PoolBoot
    pool: HetznerPoolSettings
    network: HetznerNetwork


class HetznerPool(pulumi.ComponentResource):
    """Servers spread over hosts, each replaced when its boot data changes: Ignition runs only once.

    Each server waits for the one before it, so a pool is replaced one by one, and a server that
    cannot be created stops the rest. The engine waits until a server runs, not until its node is
    Ready: where the pods of a node cannot move at once, drain it and update with `--target`.

    The snapshot is found by its labels `os=flatcar` and `flatcar=<version>`, which
    `hcloud-upload-image` sets.
    """

    node_names: list[str]
    image_id: str

    def __init__(
        self, name: str, args: HetznerPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:pools:HetznerPool", name, args.boot.inputs, opts)
        boot = args.boot
        child = pulumi.ResourceOptions(parent=self)
        prefix = f"{boot.cluster.name}-{boot.pool.name}"
        tagged = tags(boot.cluster.name, boot.pool.labels)
        look_up = pulumi.InvokeOptions(parent=self)
        who = f"pool {boot.pool.name}"
        self.image_id = snapshot(who, boot.pool.hardware, boot.flatcar, look_up)
        groups = self._placement_groups(name, prefix, args.pool.nodes, tagged)
        self.node_names = [f"{prefix}-{number}" for number in range(1, args.pool.nodes + 1)]
        before: list[pulumi.Resource] = []
        for index, node in enumerate(self.node_names):
            in_turn = pulumi.ResourceOptions(
                # a server's name is unique in its project, so the old one goes first
                delete_before_replace=True,
                depends_on=before,  # a replaced server deletes no other, as none takes its outputs
            )
            server = hcloud.Server(
                f"{name}-{index + 1}",
                name=node,
                server_type=boot.pool.hardware.name,
                image=self.image_id,
                location=args.network.location,
                user_data=user_data(boot, node, HETZNER_LIMIT_BYTES),
                networks=[
                    # without the empty list the provider attaches it anew at every update
                    hcloud.ServerNetworkArgs(subnet_id=args.network.subnet_id, alias_ips=[])
                ],
                firewall_ids=[args.network.firewall_id],
                placement_group_id=groups[index // SERVERS_PER_PLACEMENT_GROUP].id.apply(int),
                labels=tagged,
                opts=pulumi.ResourceOptions.merge(child, in_turn),
            )
            before = [server]
        self.register_outputs({"nodeNames": self.node_names, "imageId": self.image_id})

    def _placement_groups(
        self, name: str, prefix: str, servers: int, tagged: dict[str, str]
    ) -> list[hcloud.PlacementGroup]:
        return [
            hcloud.PlacementGroup(
                f"{name}-spread-{number}",
                name=f"{prefix}-{number}",
                type="spread",
                labels=tagged,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for number in range(1, -(-servers // SERVERS_PER_PLACEMENT_GROUP) + 1)
        ]
