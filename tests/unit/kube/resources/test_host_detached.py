"""The wait until Metal3 has let a host go: without it the next update would wipe the machine."""

from typing import Any

import pytest

from kube.client import KubeError
from kube.metal3 import DETACHED
from kube.resources.host_detached import HostDetachedProvider
from tests.support.kube_server import KubeServer, acting

HOST = "/apis/metal3.io/v1alpha1/namespaces/metal3-dgx/baremetalhosts/dgx-01"


def provider(cluster: KubeServer) -> HostDetachedProvider:
    return acting(HostDetachedProvider(), cluster.kubeconfig)


def props(timeout_s: int = 0) -> dict[str, Any]:
    return {"namespace": "metal3-dgx", "host": "dgx-01", "timeout_s": timeout_s}


def put(cluster: KubeServer, operational: str, *, annotated: bool = True) -> None:
    metadata = {"annotations": {DETACHED: "leaving"} if annotated else {}}
    status = {"operationalStatus": operational, "provisioning": {"state": "provisioned"}}
    cluster.put(HOST, metadata=metadata, spec={}, status=status)


def test_a_host_that_metal3_still_manages_holds_the_update(cluster: KubeServer) -> None:
    put(cluster, "OK")
    with pytest.raises(KubeError) as caught:
        provider(cluster).create(props())
    assert str(caught.value).startswith(
        "After 0 s Metal3 has not let dgx-01 go, which is provisioned. Metal3 would wipe the "
    )
    with pytest.raises(KubeError, match="Metal3 would wipe the machine"):
        provider(cluster).delete("dgx-01", props())


def test_it_goes_on_as_soon_as_the_status_says_detached(cluster: KubeServer) -> None:
    put(cluster, "OK")

    def detach(_method: str, _path: str) -> None:
        if len(cluster.requests) > 1:
            put(cluster, "detached")

    cluster.before = detach
    made = provider(cluster).create(props(timeout_s=60))
    provider(cluster).delete(made.id, made.outs or {})
    assert not provider(cluster).diff(made.id, made.outs or {}, made.outs or {}).changes


@pytest.mark.parametrize("there", [True, False])
def test_a_host_that_stays_after_all_or_has_gone_holds_nobody(
    cluster: KubeServer, there: bool
) -> None:
    if there:
        put(cluster, "OK", annotated=False)
    provider(cluster).delete("dgx-01", props())
