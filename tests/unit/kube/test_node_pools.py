"""The end of the machines that Karpenter rents: limits to 0, then no NodeClaim is left."""

from collections.abc import Callable
from typing import Any

import pytest

from kube import node_pools
from kube.client import KubeError, client
from tests.support.kube_server import CLAIMS, NODE_POOLS, KubeServer


def karpenter(cluster: KubeServer) -> Callable[[str, str], None]:
    """What the controller does between two requests: it ends the first machine that is deleted."""

    def act(_method: str, _path: str) -> None:
        for path, found in list(cluster.objects.items()):
            if found["metadata"].get("deletionTimestamp"):
                del cluster.objects[path]
                return

    return act


def test_no_machine_is_left_and_no_new_one_may_come(cluster: KubeServer) -> None:
    cluster.node_pool("burst-spot")
    cluster.claim("burst-spot-1", "burst-spot")
    cluster.claim("burst-spot-2", "burst-spot")
    cluster.before = karpenter(cluster)
    said: list[str] = []
    node_pools.end_machines(
        client(cluster.kubeconfig), ["burst-spot"], timeout_s=60, tell=said.append
    )
    assert cluster.left(CLAIMS) == []
    assert cluster.objects[f"{NODE_POOLS}/burst-spot"]["spec"]["limits"] == {"nvidia.com/gpu": "0"}
    stopped = cluster.requests.index(f"PATCH {NODE_POOLS}/burst-spot")
    ended = cluster.requests.index(f"DELETE {CLAIMS}/burst-spot-1")
    assert stopped < ended, "or Karpenter would replace the machine that ends"
    assert said[0] == "2 rented machines are still there: burst-spot-1, burst-spot-2"


def test_machines_of_other_pools_run_on(cluster: KubeServer) -> None:
    cluster.claim("other-1", "other")
    node_pools.end_machines(client(cluster.kubeconfig), ["burst"], timeout_s=0, tell=lambda _: None)
    assert cluster.left(CLAIMS) == ["other-1"]
    assert "deletionTimestamp" not in cluster.objects[f"{CLAIMS}/other-1"]["metadata"]


def test_time_that_runs_out_leaves_the_machines_to_karpenter_and_says_how_to_go_on(
    cluster: KubeServer,
) -> None:
    cluster.node_pool("burst")
    cluster.claim("burst-1", "burst")
    with pytest.raises(KubeError) as caught:
        node_pools.end_machines(
            client(cluster.kubeconfig), ["burst"], timeout_s=0, tell=lambda _: None
        )
    assert "1 rented machine is still there: burst-1. Nothing is lost" in str(caught.value)
    assert "run the same command again" in str(caught.value)
    assert "put it back into the stack file, then `pulumi refresh`" in str(caught.value)
    kept = cluster.objects[f"{CLAIMS}/burst-1"]["metadata"]["finalizers"]
    assert kept == ["karpenter.sh/termination"]


def test_a_second_run_deletes_nothing_twice(cluster: KubeServer) -> None:
    cluster.claim("burst-1", "burst")
    for _ in range(2):
        with pytest.raises(KubeError):
            node_pools.end_machines(
                client(cluster.kubeconfig), ["burst"], timeout_s=0, tell=lambda _: None
            )
    assert cluster.requests.count(f"DELETE {CLAIMS}/burst-1") == 1


def test_an_update_may_set_the_limit_again(
    cluster: KubeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider takes a field back from this manager only, and from others it is a conflict."""
    cluster.node_pool("burst")
    asked: list[str] = []
    answer = cluster.answer

    def noted(method: str, url: str, body: Any) -> tuple[int, Any]:
        asked.append(f"{method} {url}")
        return answer(method, url, body)

    monkeypatch.setattr(cluster, "answer", noted)
    node_pools.stop_renting(client(cluster.kubeconfig), ["burst"])
    assert asked == [f"PATCH {NODE_POOLS}/burst?fieldManager=pulumi-kubernetes"]
