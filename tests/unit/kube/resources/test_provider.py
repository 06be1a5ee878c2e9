"""What a dynamic resource says where the API server refuses it, or does not answer."""

import sys
from typing import TypeVar

import pytest
from pulumi.dynamic import ConfigureRequest
from pulumi.dynamic.config import Config

from kube.client import KubeError
from kube.resources.bootstrap_token import BootstrapTokenProvider
from kube.resources.node_ready import ServerTurnProvider
from kube.resources.provider import KUBECONFIG, ClusterProvider
from kube.resources.rented_machines import RentedMachinesProvider
from tests.support.kube_server import kubeconfig

Provider = TypeVar("Provider", bound=ClusterProvider)


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the limit back that a refusal sets."""
    monkeypatch.setattr(sys, "tracebacklimit", 1000, raising=False)


def configured(provider: Provider) -> Provider:
    nobody = kubeconfig("http://127.0.0.1:1")
    provider.configure(ConfigureRequest(Config({KUBECONFIG: nobody}, "gpu-fleet")))
    return provider


def test_a_turn_says_that_nobody_answers() -> None:
    provider = configured(ServerTurnProvider())
    props = {"node": "cpu-1", "next_node": "cpu-2", "timeout_s": 1}
    with pytest.raises(KubeError, match=r"does not answer \(ConnectError\): run the same"):
        provider.create(props)
    assert sys.tracebacklimit == 0


def test_the_end_of_one_rented_pool_says_that_nobody_answers() -> None:
    provider = configured(RentedMachinesProvider())
    olds, news = {"node_pools": ["burst-spot"]}, {"node_pools": [], "timeout_s": 1}
    with pytest.raises(KubeError, match=r"does not answer \(ConnectError\): run the same"):
        provider.update("rented", olds, news)


def test_a_token_says_that_nobody_answers() -> None:
    provider = configured(BootstrapTokenProvider())
    props = {"node": "cpu-1", "machine": "1", "hours": 1, "token": f"abcdef.{'0' * 16}"}
    with pytest.raises(KubeError, match="could not be made valid"):
        provider.create(props)
