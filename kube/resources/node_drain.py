"""Empties the Node of a machine that leaves, before anything is done to the machine."""

from dataclasses import dataclass
from typing import Any

import pulumi
from httpx2 import HTTPError
from lightkube import Client
from lightkube.core.exceptions import ApiError
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from kube import lease, metal3, nodes
from kube.client import KubeError
from kube.drain import LEAVING, drain, uncordon
from kube.resources.provider import ClusterProvider, difference, in_cluster
from kube.waiting import say


@dataclass(frozen=True, kw_only=True)
class NodeDrainArgs:
    """The Node, the namespace of its BareMetalHost of the same name, and the longest wait.

    `detached` is True where the machine keeps its system and its power when the host goes.
    """

    node: str
    namespace: str
    detached: bool
    timeout_s: int


class NodeDrainProvider(ClusterProvider):
    """Cordons and drains when it is made, and never afterwards.

    An update that is killed meanwhile has made no resource: the next one cordons and drains on.
    """

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        updates = ("namespace", "detached", "timeout_s")
        return difference(olds, news, updates=updates, replaces=("node",))

    def create(self, props: dict[str, Any]) -> CreateResult:
        try:
            _empty(self.cluster(), props)
        except (ApiError, HTTPError) as error:
            raise KubeError(
                f"{props['node']} could not be drained, and nothing was done to its machine: "
                f"{str(error) or type(error).__name__}."
            ) from None
        return CreateResult(props["node"], props)

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(news)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        """Let the machine work again where it stays, and forget its Node where it has gone."""
        in_cluster(lambda: _end(self.cluster(), props))


class NodeDrain(Resource, module="kube", name="NodeDrain"):
    """Is there once the Node was empty. Whatever happens to the machine depends on it.

    So it is deleted after the machine's BareMetalHost. Where the host is still there, its entry has
    stopped leaving, and pods may come back; where it is gone, nobody else deletes the Node.
    """

    node: pulumi.Output[str]

    def __init__(
        self, name: str, args: NodeDrainArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {
            "node": args.node,
            "namespace": args.namespace,
            "detached": args.detached,
            "timeout_s": args.timeout_s,
        }
        super().__init__(NodeDrainProvider(), name, properties, opts)


def _empty(cluster: Client, props: dict[str, Any]) -> None:
    name = props["node"]
    if nodes.find(cluster, name) is None:
        say(f"node {name} is not in the cluster: nothing to drain")
        return
    # one machine of a pool at a time, also where two commands take them
    other = lease.holder(cluster, props["namespace"], metal3.REINSTALL_LEASE, tell=say)
    if other:
        raise KubeError(
            f"{name} is not drained while `fleet reinstall` works on a machine of its pool "
            f"({other}), and nothing was done to it: update again when that has ended."
        )
    drain(cluster, name, why=LEAVING, timeout_s=props["timeout_s"], say=say)


def _end(cluster: Client, props: dict[str, Any]) -> None:
    name = props["node"]
    if metal3.is_there(cluster, props["namespace"], name):
        uncordon(cluster, name)
        return
    # a detached machine still runs, and its kubelet would register again: it stays cordoned
    if not props["detached"]:
        nodes.delete(cluster, name)
