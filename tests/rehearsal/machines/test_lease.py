"""One `fleet reinstall` works on a pool at a time; one that was killed keeps nobody waiting."""

import re
import threading
from typing import Any

import pytest
from lightkube import Client

from kube import lease
from kube.client import KubeError, client
from kube.lease import Held, held
from kube.metal3 import REINSTALL_LEASE
from kube.resources.node_drain import NodeDrainProvider
from tests.support.kube_server import acting
from tests.support.rehearsal.hall import LEASES, NAMESPACE, Hall

PATH = f"{LEASES}/{REINSTALL_LEASE}"


@pytest.fixture
def cluster(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> Client:
    for name, seconds in {"LIFE_S": 2.0, "RENEW_S": 0.2, "LOOK_S": 0.1}.items():
        monkeypatch.setattr(lease, name, seconds)
    hall.add()
    return client(hall.kubeconfig)


def begin(cluster: Client) -> Held:
    with held(cluster, NAMESPACE, REINSTALL_LEASE, busy="It works", tell=print) as found:
        return found


def test_while_one_works_another_is_refused_and_afterwards_not(cluster: Client) -> None:
    with held(cluster, NAMESPACE, REINSTALL_LEASE, busy="It works", tell=print) as found:
        with pytest.raises(KubeError) as caught:
            begin(cluster)
        assert str(caught.value) == f"It works: {found.holder} does."
    begin(cluster)


def test_a_login_that_fails_once_does_not_end_the_lease(
    cluster: Client, hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failed = lease._write, threading.Event()

    def failing_once(*words: Any) -> None:
        if failed.is_set():
            write(*words)
            return
        failed.set()
        raise KubeError("The login command ended with exit code 1.")

    with held(cluster, NAMESPACE, REINSTALL_LEASE, busy="It works", tell=print):
        monkeypatch.setattr(lease, "_write", failing_once)
        assert failed.wait(30)
        with pytest.raises(KubeError, match="It works"):
            begin(cluster)


def test_what_a_killed_run_held_is_taken_over(cluster: Client, hall: Hall) -> None:
    begin(cluster)
    hall.patch(PATH, {"spec": {"holderIdentity": "anna@laptop (process 1)"}})
    begin(cluster)


def test_a_run_that_was_taken_over_does_nothing_more(cluster: Client, hall: Hall) -> None:
    with held(cluster, NAMESPACE, REINSTALL_LEASE, busy="It works", tell=print) as found:
        found.check()
        other = "anna@laptop (process 1)"
        hall.patch(PATH, {"spec": {"holderIdentity": other}})
        with pytest.raises(KubeError, match=rf"{re.escape(other)} has gone on in place of this"):
            found.check()
    assert hall.api.get(PATH)["spec"]["holderIdentity"] == other  # type: ignore[index]  # it is there


def test_an_update_drains_no_other_machine_of_the_pool_meanwhile(
    cluster: Client, hall: Hall
) -> None:
    hall.add_node("dgx-02")
    drain = acting(NodeDrainProvider(), hall.kubeconfig)
    props = {
        "node": "dgx-02",
        "namespace": NAMESPACE,
        "detached": False,
        "timeout_s": 5,
    }
    with held(cluster, NAMESPACE, REINSTALL_LEASE, busy="It works", tell=print):
        with pytest.raises(KubeError, match="while `fleet reinstall` works on a machine of its po"):
            drain.create(props)
        node = hall.node("dgx-02")
        assert node
        assert "unschedulable" not in node["spec"]
    drain.create(props)
