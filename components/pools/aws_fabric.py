"""What EFA needs of EC2 beside its driver: interfaces, a security group and a placement group.

Sources: the EFA chapter of the EC2 user guide (efa-start, efa-acc-inst-types), and the EC2NodeClass
of Karpenter 1.14.1 (pkg/apis/v1/ec2nodeclass.go: at most one efa-only interface on a card).
"""

from dataclasses import dataclass

import pulumi
from pulumi_aws import ec2

from settings.names import tags


@dataclass(frozen=True, kw_only=True)
class AwsFabricArgs:
    """The pool with its cluster, the VPC of its subnets, and the labels that become tags.

    `placed` is False where a capacity block is rented, whose machines EC2 puts side by side itself.
    """

    cluster: str
    pool: str
    vpc: str
    labels: dict[str, str]
    placed: bool


class AwsFabric(pulumi.ComponentResource):
    """A security group that lets all traffic of its own members through, and a placement group.

    Both have fixed names, so that the class that selects them is known at preview.
    """

    def __init__(
        self, name: str, args: AwsFabricArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:pools:AwsFabric", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        tagged = tags(args.cluster, args.labels)
        # EFA traffic is none of IP: a rule for all addresses lets none of it through, only one for
        # the group itself does, and it is needed both ways
        ec2.SecurityGroup(
            f"{name}-group",
            name=security_group(args.cluster, args.pool),
            description=f"EFA between the machines of the pool {args.pool}",
            vpc_id=args.vpc,
            ingress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True}],
            egress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True}],
            tags=tagged,
            opts=child,
        )
        if args.placed:
            ec2.PlacementGroup(
                f"{name}-placement",
                name=placement_group(args.cluster, args.pool),
                strategy="cluster",
                tags=tagged,
                opts=child,
            )
        self.register_outputs({})


def security_group(cluster: str, pool: str) -> str:
    """Return the name of the security group of a pool's EFA interfaces."""
    return f"{cluster}-{pool}-efa"


def placement_group(cluster: str, pool: str) -> str:
    """Return the name of the placement group of a pool's machines."""
    return f"{cluster}-{pool}"


def interfaces(efa: int) -> list[dict[str, object]]:
    """Return the network interfaces of a machine with an EFA interface on each of its cards.

    Card 0 also has the one interface with an address; the others speak EFA alone and take none.
    """
    primary = _interface(0, 0, "interface")
    return [
        primary,
        *(_interface(card, 1 if card == 0 else 0, "efa-only") for card in range(efa)),
    ]


def _interface(card: int, device: int, kind: str) -> dict[str, object]:
    return {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind}
