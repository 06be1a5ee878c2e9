"""Rented machines end when their resource does, and when their NodePool leaves it."""

from typing import Any

import pytest

from kube.client import KubeError
from kube.resources.rented_machines import RentedMachinesProvider
from tests.support.kube_server import CLAIMS, NODE_POOLS, KubeServer, acting


def provider(cluster: KubeServer) -> RentedMachinesProvider:
    return acting(RentedMachinesProvider(), cluster.kubeconfig)


def machines(*pools: str) -> dict[str, Any]:
    return {"node_pools": list(pools), "timeout_s": 0}


def test_making_it_asks_no_cluster(cluster: KubeServer) -> None:
    made = provider(cluster).create(machines("spot"))
    assert provider(cluster).diff(made.id, made.outs or {}, machines("spot")).changes is False
    assert cluster.requests == []


def test_its_end_is_the_end_of_the_machines(cluster: KubeServer) -> None:
    cluster.node_pool("spot")
    cluster.claim("spot-1", "spot")
    with pytest.raises(KubeError, match="1 rented machine is still there: spot-1"):
        provider(cluster).delete("rented", machines("spot"))
    assert cluster.objects[f"{CLAIMS}/spot-1"]["metadata"]["deletionTimestamp"]
    del cluster.objects[f"{CLAIMS}/spot-1"]
    provider(cluster).delete("rented", machines("spot"))


def test_a_node_pool_that_leaves_takes_its_machines_along_and_no_others(
    cluster: KubeServer,
) -> None:
    for pool in ("spot", "reserved"):
        cluster.node_pool(pool)
        cluster.claim(f"{pool}-1", pool)
    before, after = machines("spot", "reserved"), machines("reserved")
    with pytest.raises(KubeError, match=r"1 rented machine is still there: spot-1\."):
        provider(cluster).update("rented", before, after)
    assert "deletionTimestamp" not in cluster.objects[f"{CLAIMS}/reserved-1"]["metadata"]
    kept = cluster.objects[f"{NODE_POOLS}/reserved"]["spec"]["limits"]
    assert kept == {"nvidia.com/gpu": "16"}


def test_a_cluster_without_karpenter_has_nothing_to_end(cluster: KubeServer) -> None:
    provider(cluster).delete("rented", machines("spot"))
