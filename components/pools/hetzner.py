"""A pool of Hetzner Cloud servers that boot Flatcar from a snapshot."""

from dataclasses import dataclass

import pulumi
import pulumi_hcloud as hcloud

import settings
from components.network.hetzner import HetznerNetwork
from components.pools.boot import PoolBoot, user_data
from components.pools.snapshot import snapshot
from ignition.write.payload import HETZNER_LIMIT_BYTES
from settings.names import tags

SERVERS_PER_PLACEMENT_GROUP = 10  # Hetzner's limit for a spread group


@dataclass(frozen=True, kw_only=True)
class HetznerPoolArgs:
    """`pool` is what the stack file declares of the boot's pool; its servers are in `network`."""

    boot: PoolBoot
    pool: settings.HetznerPool
    network: HetznerNetwork


class HetznerPool(pulumi.ComponentResource):
    """Servers spread over hosts, each replaced when its boot data changes: Ignition runs only once.

    Each waits for the one before it, so a pool is replaced server by server and a server that
    cannot be made stops the rest. The engine waits until a server runs, not until its node is
    Ready: where the pods of a node cannot move at once, drain it and update with `--target`.

    The snapshot is looked up by its labels `os=flatcar` and `flatcar=<version>`, which
    `hcloud-upload-image` gives it.
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
        self.image_id = snapshot(
            f"pool {boot.pool.name}",
            boot.pool.hardware,
            args.boot.flatcar,
            pulumi.InvokeOptions(parent=self),
        )
        groups = [
            hcloud.PlacementGroup(
                f"{name}-spread-{number}",
                name=f"{prefix}-{number}",
                type="spread",
                labels=tagged,
                opts=child,
            )
            for number in range(1, -(-args.pool.nodes // SERVERS_PER_PLACEMENT_GROUP) + 1)
        ]
        self.node_names = [f"{prefix}-{number}" for number in range(1, args.pool.nodes + 1)]
        before: list[pulumi.Resource] = []
        for index, node in enumerate(self.node_names):
            in_turn = pulumi.ResourceOptions(
                # a server's name is unique in its project, so the old one goes first
                delete_before_replace=True,
                depends_on=before,  # it deletes no dependent: none has an input from another
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
