"""The wait for Nodes: it ends when all are Ready, or with the words of those that are not."""

import pytest

from kube.client import KubeError, client
from kube.nodes import wait_until_ready
from tests.support.kube_server import NODES, KubeServer, kubeconfig


def test_the_wait_ends_when_the_last_node_is_ready_and_says_meanwhile_what_lacks(
    cluster: KubeServer,
) -> None:
    cluster.node("a")
    said: list[str] = []

    def join(_method: str, path: str) -> None:
        if said and path == f"{NODES}/b":
            cluster.node("b")

    cluster.before = join
    wait_until_ready(client(cluster.kubeconfig), ["a", "b"], timeout_s=60, tell=said.append)
    assert said == ["1 of 2 nodes are Ready; not yet: b (has not joined)"]


def test_time_that_runs_out_is_a_sentence_with_the_nodes_and_their_own_words(
    cluster: KubeServer,
) -> None:
    cluster.node("a", ready=False)
    with pytest.raises(KubeError) as caught:
        wait_until_ready(client(cluster.kubeconfig), ["a", "b"], timeout_s=0, tell=lambda _: None)
    assert str(caught.value) == (
        "After 0 s 0 of 2 nodes are Ready; not yet: a (cni plugin is missing), b (has not joined). "
        "Look at the machine's console; the next `pulumi up` waits again."
    )


def test_many_nodes_that_lack_are_counted(cluster: KubeServer) -> None:
    names = [f"n{number}" for number in range(9)]
    with pytest.raises(KubeError, match=r"n2 \(has not joined\) and 6 more\."):
        wait_until_ready(client(cluster.kubeconfig), names, timeout_s=0, tell=lambda _: None)


def test_an_api_server_that_does_not_answer_counts_as_not_ready() -> None:
    nobody = client(kubeconfig("http://127.0.0.1:1"))
    with pytest.raises(KubeError, match="the API server does not answer"):
        wait_until_ready(nobody, ["a"], timeout_s=0, tell=lambda _: None)
