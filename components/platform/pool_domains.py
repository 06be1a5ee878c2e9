"""A HyperNode of Volcano for each pool, so that a gang runs whole in one pool or waits."""

from collections.abc import Iterable
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import POOL_LABEL

TIER = 1
"""The tier of a pool: a job allows it as the highest with `networkTopology`."""


@dataclass(frozen=True, kw_only=True)
class PoolDomainsArgs:
    """The pools with GPUs by name. `crds` brings Volcano's kinds."""

    pools: Iterable[str]
    crds: pulumi.Resource


class PoolDomains(pulumi.ComponentResource):
    """A HyperNode for each pool, of whatever nodes bear its label now.

    A job that allows this tier and no higher is tried on a pool only if the idle resources of the
    whole pool hold it, and on no two pools together.
    """

    def __init__(
        self, name: str, args: PoolDomainsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:PoolDomains", name, None, opts)
        after_crds = pulumi.ResourceOptions(parent=self, depends_on=[args.crds])
        for pool in args.pools:
            labelled = {"labelMatch": {"matchLabels": {POOL_LABEL: pool}}}
            CustomResource(
                f"{name}-{pool}",
                api_version="topology.volcano.sh/v1alpha1",
                kind="HyperNode",
                metadata=ObjectMetaArgs(name=f"pool-{pool}"),
                spec={"tier": TIER, "members": [{"type": "Node", "selector": labelled}]},
                opts=after_crds,
            )
        self.register_outputs({})
