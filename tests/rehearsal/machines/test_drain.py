"""Draining: budgets hold, jobs end by themselves, and what is done twice goes on."""

from typing import Any

import pytest
from lightkube import Client

from kube.client import KubeError, client
from kube.drain import CORDONED_BY, drain, uncordon
from kube.metal3 import DETACHED
from kube.resources.node_drain import NodeDrainProvider
from rehearsal.metal3 import Metal3
from rehearsal.nodes import NODES
from tests.support.kube_server import acting
from tests.support.rehearsal.hall import HALL, NAMESPACE, Hall
from tests.support.rehearsal.hall_boot import user_data

APP = {"app": "web"}
PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def pod_spec(node: str) -> dict[str, Any]:
    return {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "containers": [{"name": "main", "image": "example"}],
    }


def add_service(hall: Hall, node: str, *, budget: bool = False) -> None:
    """A ReplicaSet of one pod on the node; with a budget nothing may disrupt it."""
    if budget:
        held = {"maxUnavailable": 0, "selector": {"matchLabels": APP}}
        hall.api.create(BUDGETS, {"metadata": {"name": "web"}, "spec": held})
    template = {"metadata": {"labels": APP}, "spec": pod_spec(node)}
    spec = {"replicas": 1, "selector": {"matchLabels": APP}, "template": template}
    hall.api.create(SETS, {"metadata": {"name": "web"}, "spec": spec})
    hall.until(lambda: running(hall, node), "the pod of the ReplicaSet runs")


def add_job(hall: Hall, node: str, name: str = "train-0") -> None:
    """A pod that nobody makes anew."""
    spec = {**pod_spec(node), "nodeName": node, "restartPolicy": "Never"}
    hall.api.create(PODS, {"metadata": {"name": name}, "spec": spec})
    hall.until(lambda: name in running(hall, node), "the pod of the job runs")


def running(hall: Hall, node: str) -> list[str]:
    return [
        pod["metadata"]["name"]
        for pod in hall.api.items(PODS)
        if pod["spec"].get("nodeName") == node and pod["status"].get("phase") == "Running"
    ]


@pytest.fixture
def cluster(hall: Hall) -> Client:
    hall.add_node("dgx-01")
    return client(hall.kubeconfig)


def quiet(_line: str) -> None:
    pass


def cordoned(hall: Hall) -> bool:
    node = hall.node("dgx-01")
    assert node
    return bool(node["spec"].get("unschedulable"))


def test_a_node_is_cordoned_and_its_services_move(hall: Hall, cluster: Client) -> None:
    add_service(hall, "dgx-01")

    drain(cluster, "dgx-01", timeout_s=60, say=quiet)

    assert cordoned(hall)
    assert running(hall, "dgx-01") == []


def test_a_budget_holds_a_pod_and_the_wait_says_which(hall: Hall, cluster: Client) -> None:
    add_service(hall, "dgx-01", budget=True)
    (pod,) = running(hall, "dgx-01")

    with pytest.raises(KubeError) as caught:
        drain(cluster, "dgx-01", timeout_s=1, say=quiet)

    assert str(caught.value) == (
        f"After 1 s node dgx-01 still runs default/{pod}. The node stays cordoned: run the same "
        "command again to wait on, or end those pods first."
    )
    assert running(hall, "dgx-01") == [pod]
    hall.delete(f"{BUDGETS}/web")
    drain(cluster, "dgx-01", timeout_s=60, say=quiet)
    assert running(hall, "dgx-01") == []


def test_a_job_is_never_evicted_but_waited_for(hall: Hall, cluster: Client) -> None:
    add_job(hall, "dgx-01")
    told: list[str] = []

    with pytest.raises(KubeError):
        drain(cluster, "dgx-01", timeout_s=1, say=told.append)

    assert told == ["node dgx-01 still runs default/train-0 (until it ends)"]
    assert running(hall, "dgx-01") == ["train-0"]
    hall.patch(f"{PODS}/train-0/status", {"status": {"phase": "Succeeded"}})
    drain(cluster, "dgx-01", timeout_s=60, say=quiet)


def test_a_cordon_of_somebody_else_stays(hall: Hall, cluster: Client) -> None:
    hall.patch(f"{NODES}/dgx-01", {"spec": {"unschedulable": True}})

    drain(cluster, "dgx-01", timeout_s=60, say=quiet)

    assert uncordon(cluster, "dgx-01") is False
    assert cordoned(hall)


def provider(hall: Hall) -> NodeDrainProvider:
    return acting(NodeDrainProvider(), hall.kubeconfig)


def props(timeout_s: float = 60, *, detached: bool = False) -> dict[str, Any]:
    return {
        "node": "dgx-01",
        "namespace": NAMESPACE,
        "detached": detached,
        "timeout_s": timeout_s,
    }


def test_a_drain_that_was_cut_short_goes_on(hall: Hall, cluster: Client) -> None:
    add_job(hall, "dgx-01")
    with pytest.raises(KubeError):
        provider(hall).create(props(timeout_s=1))
    assert cordoned(hall), "no new pods while nobody waits"
    hall.patch(f"{PODS}/train-0/status", {"status": {"phase": "Succeeded"}})

    made = provider(hall).create(props())

    assert made.id == "dgx-01"
    assert provider(hall).diff("dgx-01", made.outs or {}, props()).changes is False


def test_a_machine_without_a_node_leaves_at_once(hall: Hall) -> None:
    assert provider(hall).create(props()).id == "dgx-01"


def test_a_machine_that_stays_after_all_takes_pods_again(hall: Hall, cluster: Client) -> None:
    hall.add("dgx-01")
    provider(hall).create(props())
    assert cordoned(hall)

    provider(hall).delete("dgx-01", props())

    assert not cordoned(hall)
    node = hall.node("dgx-01")
    assert node
    assert CORDONED_BY not in node["metadata"]["annotations"]


def test_the_node_of_a_wiped_machine_goes_with_it(hall: Hall, cluster: Client) -> None:
    hall.add("dgx-01", boot=user_data)
    with hall.moving():
        hall.until(lambda: hall.states() == {"dgx-01": "provisioned"}, "it is installed")
        provider(hall).create(props())
        hall.delete(f"{HALL}/dgx-01")
        hall.until(lambda: not hall.states(), "the host is gone")

    provider(hall).delete("dgx-01", props())

    assert hall.node("dgx-01") is None


def test_the_node_of_a_detached_machine_stays_cordoned(hall: Hall, cluster: Client) -> None:
    hall.add("dgx-01")
    metal3 = Metal3(api=hall.api)
    metal3.settle()
    provider(hall).create(props(detached=True))
    hall.patch(f"{HALL}/dgx-01", {"metadata": {"annotations": {DETACHED: "leaving"}}})
    metal3.settle()
    hall.delete(f"{HALL}/dgx-01")
    metal3.settle()

    provider(hall).delete("dgx-01", props(detached=True))

    assert cordoned(hall), "its machine still runs, and new pods would go with it"
