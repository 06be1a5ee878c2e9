"""Waiting for Nodes as resources: unchanged once made, and a server's turn drains its Node."""

from typing import Any

import pytest
from pulumi.runtime import rpc

from kube.client import KubeError
from kube.resources.node_ready import NodeReadyProvider, ServerTurnProvider
from kube.resources.provider import DELETE_UNREACHABLE
from tests.support.kube_server import NODES, PODS, KubeServer, acting, kubeconfig


def ready(cluster: KubeServer) -> NodeReadyProvider:
    return acting(NodeReadyProvider(), cluster.kubeconfig)


def server_turn(cluster: KubeServer) -> ServerTurnProvider:
    return acting(ServerTurnProvider(), cluster.kubeconfig)


def waits(*nodes: str) -> dict[str, Any]:
    return {"nodes": list(nodes), "timeout_s": 0}


def turn(**changes: Any) -> dict[str, Any]:
    held = {"node": "cpu-1", "server": "4711", "timeout_s": 0}
    return {**held, "next_node": "cpu-2", **changes}


def test_a_wait_that_is_over_changes_nothing_at_the_next_preview(cluster: KubeServer) -> None:
    cluster.node("a")
    made = ready(cluster).create(waits("a"))
    cluster.node("a", ready=False)
    assert ready(cluster).diff(made.id, made.outs or {}, waits("a")).changes is False
    ready(cluster).delete(made.id, made.outs or {})
    assert cluster.left(NODES) == ["a"]


def test_only_nodes_that_are_new_are_waited_for(cluster: KubeServer) -> None:
    cluster.node("a", ready=False)
    before, after = waits("a"), waits("a", "b")
    assert ready(cluster).diff("ready", before, after).changes
    with pytest.raises(KubeError, match=r"not yet: b \(has not joined\)"):
        ready(cluster).update("ready", before, after)
    cluster.node("b")
    ready(cluster).update("ready", before, after)


def test_another_class_that_serves_the_wait_is_kept_without_waiting(cluster: KubeServer) -> None:
    old, new = {**waits("a"), "__provider": "moved"}, {**waits("a"), "__provider": "here"}
    answer = ready(cluster).diff("ready", old, new)
    assert answer.changes
    assert not answer.replaces
    assert ready(cluster).update("ready", old, new).outs == new


@pytest.mark.parametrize("server", ["4712", rpc.UNKNOWN])
def test_another_server_is_another_turn_and_the_old_one_drains_first(
    cluster: KubeServer, server: str
) -> None:
    answer = server_turn(cluster).diff("cpu-1", turn(), turn(server=server))
    assert answer.replaces == ["server"]
    assert answer.delete_before_replace


def test_the_next_server_waits_for_this_node_where_it_has_a_node_to_lose(
    cluster: KubeServer,
) -> None:
    server_turn(cluster).create(turn())  # cpu-2 is new, too
    cluster.node("cpu-2")
    with pytest.raises(KubeError, match=r"cpu-1 \(has not joined\)"):
        server_turn(cluster).create(turn())
    cluster.node("cpu-1")
    server_turn(cluster).create(turn())


def test_the_last_server_of_a_pool_is_waited_for(cluster: KubeServer) -> None:
    with pytest.raises(KubeError, match=r"cpu-1 \(has not joined\)"):
        server_turn(cluster).create(turn(next_node=None))


def test_pods_move_before_a_server_goes_and_its_node_goes_with_it(cluster: KubeServer) -> None:
    cluster.node("cpu-1")
    cluster.pod("web", "cpu-1")
    server_turn(cluster).delete("cpu-1", turn())
    assert cluster.left(PODS) == []
    assert cluster.left(NODES) == []
    order = [each for each in cluster.requests if not each.startswith("GET")]
    assert order == [f"PATCH {NODES}/cpu-1", f"POST {PODS}/web/eviction", f"DELETE {NODES}/cpu-1"]


def test_a_server_that_is_down_is_not_drained(cluster: KubeServer) -> None:
    cluster.node("cpu-1", ready=False)
    cluster.pod("web", "cpu-1")
    server_turn(cluster).delete("cpu-1", turn())
    assert cluster.left(PODS) == ["web"], "its kubelet would never say that the pod has ended"
    assert cluster.left(NODES) == []


def test_a_cluster_that_is_gone_is_a_sentence_and_forgotten_where_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = acting(ServerTurnProvider(), kubeconfig("http://127.0.0.1:1"))
    with pytest.raises(KubeError, match=f"set {DELETE_UNREACHABLE}=true"):
        gone.delete("cpu-1", turn())
    monkeypatch.setenv(DELETE_UNREACHABLE, "true")
    gone.delete("cpu-1", turn())
