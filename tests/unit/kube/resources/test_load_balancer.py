"""A load balancer goes while the controller that deletes it still runs."""

import pytest

from kube.client import KubeError
from kube.resources import load_balancer
from kube.resources.load_balancer import LoadBalancerProvider
from tests.support.kube_server import KubeServer, acting

SERVICES = "/api/v1/namespaces/kube-system/services"
PATH = f"{SERVICES}/cilium-ingress"


DECLARED = {"namespace": "kube-system", "service": "cilium-ingress"}


def deleted(cluster: KubeServer) -> None:
    acting(LoadBalancerProvider(), cluster.kubeconfig).delete("it", DECLARED)


def service(cluster: KubeServer) -> None:
    finalizers = ["service.kubernetes.io/load-balancer-cleanup"]
    cluster.put(PATH, metadata={"finalizers": finalizers}, spec={"type": "LoadBalancer"})


def test_its_end_waits_for_the_controller_that_takes_the_load_balancer_away(
    cluster: KubeServer,
) -> None:
    service(cluster)

    def controller(_method: str, _path: str) -> None:
        if cluster.requests.count(f"GET {PATH}") > 2:
            cluster.objects.pop(PATH, None)

    cluster.before = controller
    deleted(cluster)
    assert cluster.left(SERVICES) == []
    assert cluster.requests.count(f"DELETE {PATH}") == 1


def test_a_load_balancer_that_stays_keeps_the_controller_and_says_where_to_look(
    cluster: KubeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    service(cluster)
    monkeypatch.setattr(load_balancer, "TIMEOUT_S", 0)
    with pytest.raises(KubeError, match="Service kube-system/cilium-ingress is still there"):
        deleted(cluster)


def test_without_the_service_there_is_nothing_to_wait_for(cluster: KubeServer) -> None:
    deleted(cluster)
