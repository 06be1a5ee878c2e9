"""What Helm says of a release that an update had begun, and what a person must do."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from fleet.resume.pending import Pending
from fleet.resume.releases import HalfDoneError, is_there
from kube.client import KubeError
from settings.names import RELEASE
from tests.support.kube_server import KubeServer, serving

INPUTS = {"namespace": "kube-system", "name": "cilium"}


@pytest.fixture
def cluster() -> Iterator[KubeServer]:
    with serving() as found:
        found.release("cilium-crds", "pending-install")
        yield found


def begun(operation: str = "creating") -> Pending:
    urn = f"urn:pulumi:dev::gpu-fleet::{RELEASE}::cilium"
    resource = {"urn": urn, "type": RELEASE, "inputs": INPUTS}
    written = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)
    return Pending(operation=operation, resource=resource, written=written)


def test_a_release_that_is_deployed_is_there(cluster: KubeServer) -> None:
    cluster.release("cilium", "deployed")
    assert is_there(begun(), cluster.kubeconfig)


def test_one_of_another_name_or_namespace_is_not(cluster: KubeServer) -> None:
    cluster.release("cilium", "deployed", namespace="default")
    assert not is_there(begun(), cluster.kubeconfig)


def test_one_that_helm_had_begun_to_install_is_to_be_uninstalled(cluster: KubeServer) -> None:
    cluster.release("cilium", "pending-install")
    with pytest.raises(HalfDoneError) as caught:
        is_there(begun(), cluster.kubeconfig)
    assert str(caught.value) == (
        "Release cilium: its status is pending-install, which is not the end. Where nothing works "
        "on it any more, run `helm --namespace kube-system uninstall cilium`, and this command "
        "again."
    )


@pytest.mark.parametrize("status", ["pending-upgrade", "pending-rollback"])
def test_one_that_helm_had_begun_to_change_is_to_be_rolled_back(
    status: str, cluster: KubeServer
) -> None:
    """Its last revision counts, by number: the tenth is after the ninth."""
    cluster.release("cilium", *["superseded"] * 8, "deployed", status)
    with pytest.raises(HalfDoneError, match="helm --namespace kube-system rollback cilium"):
        is_there(begun("updating"), cluster.kubeconfig)


def test_one_that_has_failed_is_installed_again_or_upgraded(cluster: KubeServer) -> None:
    """An update finds a difference where it had begun one, and none after an install."""
    cluster.release("cilium", "failed")
    assert is_there(begun("updating"), cluster.kubeconfig)
    with pytest.raises(HalfDoneError, match="uninstall cilium"):
        is_there(begun(), cluster.kubeconfig)


def test_a_cluster_that_does_not_answer_says_so() -> None:
    with serving() as gone:
        kubeconfig = gone.kubeconfig
    with pytest.raises(KubeError, match="The API server does not answer"):
        is_there(begun(), kubeconfig)


def test_a_cluster_that_refuses_says_why(cluster: KubeServer) -> None:
    cluster.token = "another"
    with pytest.raises(KubeError, match="The API server refuses it"):
        is_there(begun(), cluster.kubeconfig)
