"""What the program that admits pods is told of a node's kubelet."""

import json
from typing import Any, cast

from hardware.catalogue import load
from rehearsal.api import Api
from rehearsal.kubelet import DESCRIBED, description, machine
from rehearsal.network_plugins import NetworkPlugins
from rehearsal.nodes import manifest, register
from settings.gpu_sharing import GpuSharing
from tests.support.rehearsal import kubelets
from tests.support.rehearsal.fake_nodes import FakeApi


def told(name: str, sharing: GpuSharing | None = None) -> dict[str, Any]:
    made = manifest(kubelets.machine("node-1", name, sharing), "v1.36.3")
    return cast("dict[str, Any]", json.loads(made["metadata"]["annotations"][DESCRIBED]))


def devices(found: dict[str, Any], resource: str) -> dict[str, int | None]:
    (plugin,) = (each for each in found["plugins"] if each["resource"] == resource)
    return {each["id"]: each["numa_node"] for each in plugin["devices"]}


def test_it_has_the_configuration_that_the_boot_data_gives_kubelet() -> None:
    given = told("dgx-h200")["configuration"]
    assert given["kind"] == "KubeletConfiguration"
    assert given["reservedSystemCPUs"] == "0-3,56-59,112-115,168-171"
    assert given["memoryManagerPolicy"] == "Static"


def test_it_has_the_machine_with_its_pages() -> None:
    first, second = told("dgx-h200")["numa_nodes"]
    assert first["cores"][0] == [0, 112]
    assert second["core_sockets"] == [1] * 56
    assert (first["memory_mib"], first["hugepages_1gi"], first["hugepages_2mi"]) == (1 << 20, 32, 0)
    assert second["distances"] == [21, 10]


def test_two_numa_nodes_of_one_socket_are_on_it() -> None:
    hardware = load("gex44")
    (only,) = machine(hardware, {})["numa_nodes"]
    assert set(only["core_sockets"]) == {0}


def test_gpus_and_their_parts_state_the_numa_node_of_the_gpu() -> None:
    whole = devices(told("dgx-h200"), "nvidia.com/gpu")
    assert whole == {f"GPU-{number}": number // 4 for number in range(8)}
    sliced = devices(told("dgx-h200", GpuSharing(mode="mps", replicas=2)), "nvidia.com/gpu")
    assert sliced["GPU-7::1"] == 1
    assert len(sliced) == 16
    layout = GpuSharing(mode="mig", mig_layout={"1g.18gb+me": 1, "3g.71gb": 2})
    instances = devices(told("dgx-h200", layout), "nvidia.com/mig-3g.71gb")
    assert len(instances) == 16
    assert instances["MIG-0-3g.71gb-1"] == 0


def test_the_plugin_refuses_two_replicas_of_slices_and_of_mps() -> None:
    ways = (
        GpuSharing(),
        GpuSharing(mode="time-slicing", replicas=4),
        GpuSharing(mode="mps", replicas=4),
    )
    assert [told("dgx-h200", way)["plugins"][0]["at_most_one"] for way in ways] == [
        False,
        True,
        True,
    ]


def test_network_cards_state_no_numa_node() -> None:
    assert devices(told("dgx-h200"), "rdma/rails") == {str(number): None for number in range(8)}
    assert set(devices(told("p5en.48xlarge"), "vpc.amazonaws.com/efa").values()) == {None}
    node = kubelets.machine("node-1", "p5en.48xlarge").booted
    assert node.allocatable["vpc.amazonaws.com/efa"] == "16"
    assert "rdma/rails" not in node.allocatable


def test_a_node_that_is_there_takes_the_devices_of_a_plugin_that_comes_later() -> None:
    api, found = FakeApi(), kubelets.machine("node-1", "dgx-h200")
    gpus = tuple(each for each in found.offered if each.resource != "rdma/rails")
    before = manifest(found, "v1.36.3")
    before["metadata"]["annotations"][DESCRIBED] = description(found.booted, found.hardware, gpus)
    for part in ("capacity", "allocatable"):
        del before["status"][part]["rdma/rails"]
    api.create("", before)
    register(cast("Api", api), [found])

    assert api.node["status"]["allocatable"]["rdma/rails"] == "8"
    assert "rdma/rails" in api.node["metadata"]["annotations"][DESCRIBED]


def test_without_plugins_no_network_card_is_offered() -> None:
    none = NetworkPlugins(rdma={}, efa=False)
    labels = {"fleet.gpu/pool": "dgx", "fleet.gpu/rdma": "efa"}
    assert none.offered(labels, load("p5en.48xlarge")) == ()
