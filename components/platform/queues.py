"""The queues that share the fleet's GPUs among desks."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs


@dataclass(frozen=True, kw_only=True)
class QueueShare:
    """A queue's share of a full fleet, and the most GPUs that it may hold."""

    weight: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class QueuesArgs:
    """The queues by name. `crds` brings Volcano's CRDs."""

    queues: Mapping[str, QueueShare]
    crds: pulumi.Resource


class Queues(pulumi.ComponentResource):
    """One Volcano Queue a desk."""

    def __init__(
        self, name: str, args: QueuesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Queues", name, None, opts)
        for queue, share in args.queues.items():
            CustomResource(
                f"{name}-{queue}",
                api_version="scheduling.volcano.sh/v1beta1",
                kind="Queue",
                metadata=ObjectMetaArgs(name=queue),
                spec={
                    "weight": share.weight,
                    "capability": {"nvidia.com/gpu": str(share.gpus)},
                    "reclaimable": True,
                },
                # the API server knows this kind only once Volcano's chart is installed
                opts=pulumi.ResourceOptions(parent=self, depends_on=[args.crds]),
            )
        self.register_outputs({})
