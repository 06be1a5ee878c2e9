"""The machines that Karpenter rents for some NodePools, as something that ends before they do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from kube.node_pools import end_machines
from kube.resources.provider import ClusterProvider, difference, in_cluster
from kube.waiting import say


@dataclass(frozen=True, kw_only=True)
class RentedMachinesArgs:
    """The NodePools by name; `timeout_s` must be longer than the longest drain of a machine."""

    node_pools: Sequence[str]
    timeout_s: int


class RentedMachinesProvider(ClusterProvider):
    """Does nothing until it is deleted: then it ends the machines, and waits for the last."""

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return difference(olds, news, updates=("node_pools", "timeout_s"))

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult("rented", props)

    def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        """End the machines of NodePools that leave the list; they are deleted after this."""
        gone = [pool for pool in olds["node_pools"] if pool not in news["node_pools"]]
        if gone:
            self._end(gone, news["timeout_s"])
        return UpdateResult(news)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        in_cluster(lambda: self._end(props["node_pools"], props["timeout_s"]))

    def _end(self, pools: Sequence[str], timeout_s: float) -> None:
        end_machines(self.cluster(), pools, timeout_s=timeout_s, tell=say)


class RentedMachines(Resource, module="kube", name="RentedMachines"):
    """Depends on the NodePools, their class and Karpenter, so it goes while all of them work."""

    node_pools: pulumi.Output[list[str]]

    def __init__(
        self, name: str, args: RentedMachinesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {"node_pools": list(args.node_pools), "timeout_s": args.timeout_s}
        super().__init__(RentedMachinesProvider(), name, properties, opts)
