"""Waits for Nodes: until machines have joined, and before one of them is taken away."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from lightkube import Client
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from kube import nodes
from kube.drain import drain
from kube.resources.provider import ClusterProvider, difference, in_cluster
from kube.waiting import say

DRAIN_TIMEOUT_S = 21_600
"""Jobs on the node are waited for, never ended; a run that is over is started again."""


@dataclass(frozen=True, kw_only=True)
class NodeReadyArgs:
    """The Nodes to wait for, by name, and for how long."""

    nodes: Sequence[str]
    timeout_s: int


class NodeReadyProvider(ClusterProvider):
    """Waits when the resource is made, and for Nodes that are added to it; never afterwards."""

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return difference(olds, news, updates=("nodes", "timeout_s"))

    def create(self, props: dict[str, Any]) -> CreateResult:
        _wait(self.cluster(), props["nodes"], props["timeout_s"])
        return CreateResult("ready", props)

    def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        if added := [name for name in news["nodes"] if name not in olds["nodes"]]:
            _wait(self.cluster(), added, news["timeout_s"])
        return UpdateResult(news)


class NodeReady(Resource, module="kube", name="NodeReady"):
    """Is there once all of its Nodes were Ready; what needs machines depends on it.

    One for a whole pool: Pulumi's host of dynamic providers serves four calls at a time
    (pulumi 3.272, pulumi/dynamic/__main__.py), and a wait is one of them.
    """

    nodes: pulumi.Output[list[str]]

    def __init__(
        self, name: str, args: NodeReadyArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {"nodes": list(args.nodes), "timeout_s": args.timeout_s}
        super().__init__(NodeReadyProvider(), name, properties, opts)


@dataclass(frozen=True, kw_only=True)
class ServerTurnArgs:
    """The Node of one server of a pool, and that of the server that is replaced after it.

    `server` is the server's id: another one is another machine. `next_node` is None for the last,
    which is waited for in any case.
    """

    node: str
    server: pulumi.Input[str]
    next_node: str | None
    timeout_s: int


class ServerTurnProvider(ClusterProvider):
    """Drains the Node before its server goes, and holds the next server until this one is Ready."""

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        """Another server, known or not yet, makes another resource, whose old one drains first."""
        updates = ("next_node", "timeout_s")
        found = difference(olds, news, updates=updates, replaces=("node", "server"))
        found.delete_before_replace = True
        return found

    def create(self, props: dict[str, Any]) -> CreateResult:
        cluster, following = self.cluster(), props.get("next_node")
        # where the next server is new, too, nothing runs on it that this one could lack for
        if following is None or nodes.find(cluster, following) is not None:
            _wait(cluster, [props["node"]], props["timeout_s"])
        return CreateResult(props["node"], props)

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(news)

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        in_cluster(lambda: _take_away(self.cluster(), props["node"]))


class ServerTurn(Resource, module="kube", name="ServerTurn"):
    """A server's turn to be replaced: it depends on its server, and the next server on it."""

    node: pulumi.Output[str]

    def __init__(
        self, name: str, args: ServerTurnArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {
            "node": args.node,
            "server": args.server,
            "next_node": args.next_node,
            "timeout_s": args.timeout_s,
        }
        super().__init__(ServerTurnProvider(), name, properties, opts)


def _wait(cluster: Client, names: Sequence[str], timeout_s: float) -> None:
    nodes.wait_until_ready(cluster, names, timeout_s=timeout_s, tell=say)


def _take_away(cluster: Client, name: str) -> None:
    """Drain the Node where its kubelet answers, and delete it.

    A kubelet registers a Node when it starts, so the one of the next server is a new object; of
    this one nobody else would delete it (docs/decisions/0008).
    """
    node = nodes.find(cluster, name)
    if node is None:
        return
    if nodes.is_ready(node):
        drain(cluster, name, timeout_s=DRAIN_TIMEOUT_S, say=say)
    nodes.delete(cluster, name)
