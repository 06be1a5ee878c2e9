"""A pool of Hetzner Cloud servers that boot Flatcar from a snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_hcloud as hcloud

from components.network.hetzner import HetznerNetwork
from components.pools.boot import PoolBoot, generation, token_args, user_data
from components.pools.snapshot import snapshot
from ignition.write.payload import HETZNER_LIMIT_BYTES
from kube.resources.bootstrap_token import BootstrapToken
from kube.resources.node_ready import NodeReady, NodeReadyArgs, ServerTurn, ServerTurnArgs
from settings.names import BOOT_LABEL, tags
from settings.pools import HetznerPoolSettings

SERVERS_PER_PLACEMENT_GROUP = 10  # Hetzner's limit for a spread group
READY_TIMEOUT_S = 1200  # a server boots, restarts into its kernel arguments, and joins
JOIN_HOURS = 1  # a server boots twice, fetches its extensions and joins: minutes


@dataclass(frozen=True, kw_only=True)
class HetznerPoolArgs:
    """`pool` is the pool as the stack file declares it; its servers are in `network`.

    `after` is what their nodes need to become Ready.
    """

    boot: PoolBoot
    pool: HetznerPoolSettings
    network: HetznerNetwork
    after: Sequence[pulumi.Resource] = ()


def server_names(boot: PoolBoot, count: int) -> list[str]:
    """Return the names of the servers of a pool, which are those of its nodes."""
    prefix = f"{boot.cluster.name}-{boot.pool.name}"
    return [f"{prefix}-{number}" for number in range(1, count + 1)]


def pool_generation(boot: PoolBoot, location: str, image: str) -> str:
    """Return the digest of what the servers of a pool are made from."""
    cluster = boot.cluster
    return generation(
        boot.pool.hardware.name,
        location,
        image,
        boot.ignition,
        cluster.endpoint,
        cluster.ca_cert_hash,
    )


class HetznerPool(pulumi.ComponentResource):
    """Servers spread over hosts, each replaced when its boot data changes: Ignition runs only once.

    A pool is replaced one by one: a node is drained before its server is deleted, and the next
    server waits until the new node is Ready, so that a release that does not boot takes one node.
    The servers of a new pool come up together.

    The snapshot is found by its labels `os=flatcar` and `flatcar=<version>`, which
    `hcloud-upload-image` sets.
    """

    node_names: list[str]
    image_id: str
    ready: list[pulumi.Resource]
    """What needs these machines depends on them: there once all nodes were Ready."""

    def __init__(
        self, name: str, args: HetznerPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:pools:HetznerPool", name, args.boot.inputs, opts)
        boot = args.boot
        child = pulumi.ResourceOptions(parent=self)
        prefix = f"{boot.cluster.name}-{boot.pool.name}"
        tagged = tags(boot.cluster.name, boot.pool.labels)
        look_up = pulumi.InvokeOptions(parent=self)
        who = f"pool {boot.pool.title}"
        self.image_id = snapshot(who, boot.pool.hardware, boot.flatcar, look_up)
        made_from = pool_generation(boot, args.network.location, self.image_id)
        groups = self._placement_groups(name, prefix, args.pool.nodes, tagged)
        self.node_names = server_names(boot, args.pool.nodes)
        before: list[pulumi.Resource] = list(args.after)
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
                labels={**tagged, BOOT_LABEL: made_from},
                opts=pulumi.ResourceOptions.merge(child, in_turn),
            )
            BootstrapToken(
                f"{name}-{index + 1}-token", token_args(boot, node, server.id, JOIN_HOURS), child
            )
            before = [*args.after, self._turn(f"{name}-{index + 1}", index, server)]
        waits = NodeReadyArgs(nodes=self.node_names, timeout_s=READY_TIMEOUT_S)
        after_all = pulumi.ResourceOptions(parent=self, depends_on=before)
        self.ready = [NodeReady(f"{name}-ready", waits, after_all)]
        self.register_outputs({"nodeNames": self.node_names, "imageId": self.image_id})

    def _turn(self, name: str, index: int, server: hcloud.Server) -> ServerTurn:
        following = self.node_names[index + 1 : index + 2]
        turn = ServerTurnArgs(
            node=self.node_names[index],
            server=server.id,
            next_node=following[0] if following else None,
            timeout_s=READY_TIMEOUT_S,
        )
        return ServerTurn(f"{name}-turn", turn, pulumi.ResourceOptions(parent=self))

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
