"""The client of the cluster comes from the text of a kubeconfig."""

import pytest

from kube.client import KubeError, client

GOOD = """
apiVersion: v1
kind: Config
current-context: twin
clusters: [{name: twin, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: me, user: {token: abc}}]
contexts: [{name: twin, context: {cluster: twin, user: me}}]
"""


def test_a_kubeconfig_gives_a_client_of_its_current_context() -> None:
    assert client(GOOD).config.cluster.server == "https://127.0.0.1:6443"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "a: b", GOOD.replace("current-context: twin", "current-context: gone")]
)
def test_a_text_that_is_no_kubeconfig_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(KubeError, match="set the content of a kubeconfig file"):
        client(text)
