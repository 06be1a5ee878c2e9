"""The machines that Karpenter rents for some NodePools, as something that ends before they do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from kube.client import client
from kube.node_pools import end_machines
from kube.resources.provider import KUBECONFIG, PROVIDER_KEY, KubeProvider, in_cluster
from kube.waiting import say


@dataclass(frozen=True, kw_only=True)
class RentedMachinesArgs:
    """The NodePools by name; `timeout_s` must be longer than the longest drain of a machine."""

    kubeconfig: pulumi.Input[str] = field(repr=False)
    node_pools: Sequence[str]
    timeout_s: int


class RentedMachinesProvider(KubeProvider):
    """Does nothing until it is deleted: then it ends the machines, and waits for the last."""

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        keys = ("node_pools", "timeout_s", KUBECONFIG, PROVIDER_KEY)
        return DiffResult(changes=any(olds.get(key) != news.get(key) for key in keys))

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult("rented", props)

    def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        """End the machines of NodePools that leave the list; they are deleted after this."""
        gone = [pool for pool in olds["node_pools"] if pool not in news["node_pools"]]
        if gone:
            cluster = client(news[KUBECONFIG])
            end_machines(cluster, gone, timeout_s=news["timeout_s"], tell=say)
        return UpdateResult(news)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        cluster, pools = client(props[KUBECONFIG]), props["node_pools"]
        in_cluster(partial(end_machines, cluster, pools, timeout_s=props["timeout_s"], tell=say))


class RentedMachines(Resource, module="kube", name="RentedMachines"):
    """Depends on the NodePools, their class and Karpenter, so it goes while all of them work."""

    node_pools: pulumi.Output[list[str]]

    def __init__(
        self, name: str, args: RentedMachinesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {
            "node_pools": list(args.node_pools),
            "timeout_s": args.timeout_s,
            KUBECONFIG: pulumi.Output.secret(args.kubeconfig),
        }
        super().__init__(
            RentedMachinesProvider(),
            name,
            properties,
            pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(additional_secret_outputs=[KUBECONFIG]), opts
            ),
        )
