"""The Nodes of machines that come and go."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from rehearsal.api import Api
from rehearsal.nodes import ClusterNode, delete_others, manifest, register
from tests.support.rehearsal import fleets


class Cluster:
    """The Nodes of a cluster, by name."""

    def __init__(self) -> None:
        self.nodes: dict[str, Mapping[str, Any]] = {}

    def get(self, path: str) -> Mapping[str, Any]:
        return self.nodes.get(path.rpartition("/")[2], {"gitVersion": "v1.36.3"})

    def items(self, _path: str) -> list[Mapping[str, Any]]:
        return list(self.nodes.values())

    def create(self, _path: str, body: Mapping[str, Any]) -> bool:
        return self.nodes.setdefault(body["metadata"]["name"], body) is body

    def delete(self, path: str, *, dependents: str) -> None:
        assert dependents == "Background", "its name is free again at once"
        del self.nodes[path.rpartition("/")[2]]

    def put(self, name: str, provider_id: str) -> None:
        metadata, spec = {"name": name}, {"providerID": provider_id}
        self.nodes[name] = {"metadata": metadata, "spec": spec, "status": {}}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def machine() -> ClusterNode:
    return fleets.dev().nodes[-1]


def test_the_node_of_a_machine_that_runs_stays_as_it_is(
    cluster: Cluster, machine: ClusterNode
) -> None:
    there = manifest(machine, "v1.36.3")
    cluster.create("", there)
    register(cast("Api", cluster), [machine])  # which cannot change anything of it
    assert cluster.nodes == {machine.name: there}


def test_the_node_of_a_machine_that_was_replaced_gives_way(
    cluster: Cluster, machine: ClusterNode
) -> None:
    cluster.put(machine.name, "hcloud://of-the-old-machine")
    cluster.put("other", "hcloud://1")
    register(cast("Api", cluster), [machine])
    made = cluster.nodes[machine.name]
    assert made["spec"]["providerID"] == machine.machine.provider_id
    assert made["status"]["allocatable"]
    assert "other" in cluster.nodes


def test_nodes_of_machines_that_are_gone_are_deleted_but_not_those_of_karpenter(
    cluster: Cluster,
) -> None:
    for name, provider_id in {
        "cpu-1": "hcloud://1",
        "cpu-2": "hcloud://2",
        "dgx-1": "metal3://a",
        "burst-x": "aws:///us-east-1/i-1",
    }.items():
        cluster.put(name, provider_id)
    delete_others(cast("Api", cluster), {"cpu-1"})
    assert set(cluster.nodes) == {"cpu-1", "burst-x"}
