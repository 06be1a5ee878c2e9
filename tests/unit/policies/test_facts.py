"""What the rules are told of an environment's pools, held to kubelet's own algorithms."""

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hardware.catalogue import load, names
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from ignition.shapes.admission import admit
from ignition.shapes.nearest import largest_on
from ignition.shapes.node import ContainerRequest
from ignition.shapes.node_of_plan import from_plan
from policies.facts import pool_facts
from policies.language.cuda import CAPABILITIES, architectures
from policies.language.facts import SCHEMA, Pool, Shape
from settings.gpu_sharing import GpuSharing
from settings.pools import BareMetalPoolSettings
from settings.resolved import ResolvedPool, resolve
from settings.types import Versions
from tests.support.components.boots import declared

SLICED = GpuSharing(mode="time-slicing", replicas=4)
CUT = GpuSharing(mode="mig", mig_layout={"1g.18gb": 1, "3g.71gb": 1})
GPU_MACHINES = [name for name in names() if load(name).gpus]


def machine(name: str, purpose: Purpose = "training", **tuning: Any) -> ResolvedPool:
    chosen = replace(Tuning(), **tuning)
    return resolve("p", declared(name, purpose, chosen), load(name))


def facts(pool: ResolvedPool, **versions: Any) -> Pool:
    return pool_facts(pool, Versions(**versions))


def request(shape: Shape) -> ContainerRequest:
    return ContainerRequest(
        gpus=shape["gpus"],
        cpus=shape["cpus"],
        memory_mib=shape["memory_mib"],
        hugepages_1gi=shape["hugepages_1gi_mib"] // 1024,
        hugepages_2mi=shape["hugepages_2mi_mib"] // 2,
    )


@pytest.mark.parametrize("pages", [(0, 0), (2, 512)])
@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("name", GPU_MACHINES)
def test_the_largest_shape_is_admitted_and_nothing_beyond_it(
    name: str, purpose: Purpose, pages: tuple[int, int]
) -> None:
    big, small = pages
    pool = machine(
        name, purpose, hugepages_1gi_per_numa_node=big, hugepages_2mi_per_numa_node=small
    )
    node = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib)
    found = facts(pool)["shapes"]
    assert found
    for each in found:
        shape, group = request(each), each["cpus_in_multiples_of"]

        assert admit(node, [shape]).admitted
        for wrong in (
            replace(shape, gpus=shape.gpus + 1),
            replace(shape, cpus=shape.cpus + group),
            replace(shape, memory_mib=shape.memory_mib + 1),
            replace(shape, hugepages_1gi=shape.hugepages_1gi + 1),
            replace(shape, hugepages_2mi=shape.hugepages_2mi + 1),
            *([replace(shape, cpus=shape.cpus - 1)] if group > 1 else []),
        ):
            assert not admit(node, [wrong]).admitted


@pytest.mark.parametrize("name", ["dgx-h200", "p5e.48xlarge", "gex44"])
def test_the_shapes_are_those_of_the_search_over_kubelets_algorithms(name: str) -> None:
    for purpose in PURPOSES:
        pool = machine(name, purpose)
        found = largest_on(from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib))
        (shape,) = facts(pool)["shapes"]

        assert {(each.cpus, each.memory_mib) for each in found} == {
            (shape["cpus"], shape["memory_mib"])
        }
        assert shape["gpus"] == max(each.gpus for each in found)


def sizes(shape: Shape) -> tuple[int, ...]:
    return tuple(shape[key] for key in Shape.__annotations__)  # type: ignore[literal-required]  # its own keys


def test_a_pod_of_one_numa_node_has_its_huge_pages_alone() -> None:
    pages: dict[str, int] = {"hugepages_1gi_per_numa_node": 32, "hugepages_2mi_per_numa_node": 512}
    node, whole = (
        facts(machine("dgx-h200", "inference", **pages)),
        facts(machine("dgx-h200", "training", **pages)),
    )

    assert [sizes(each) for each in node["shapes"]] == [(4, 108, 2, 1008128, 32768, 1024)]
    assert [sizes(each) for each in whole["shapes"]] == [(8, 216, 2, 2016256, 65536, 2048)]


def test_numa_nodes_of_which_none_has_all_that_another_has_are_told_each() -> None:
    pool = machine("dgx-h200", "inference", hugepages_1gi_per_numa_node=32)
    first, second = pool.plan.nodes
    uneven = replace(first, hugepages_1gi=64), second

    found = facts(replace(pool, plan=replace(pool.plan, nodes=uneven)))["shapes"]

    assert [sizes(each) for each in found] == [
        (4, 108, 2, 976384, 65536, 0),
        (4, 108, 2, 1009152, 32768, 0),
    ]


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_a_pod_with_the_whole_machine_stays_within_its_share(name: str) -> None:
    pool = machine(name)
    node, found = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib), facts(pool)

    assert found["cpus_per_gpu"] * node.gpu_count >= node.allocatable["cpu"]
    assert found["memory_mib_per_gpu"] * node.gpu_count >= node.allocatable["memory"]


def test_a_realtime_pool_tells_whether_its_cpus_are_balanced() -> None:
    assert facts(machine("dgx-h200", "realtime", isolation="exclusive"))["exclusive"]
    assert not facts(machine("dgx-h200", "realtime"))["exclusive"]


def test_a_dgx_tells_what_follows_from_its_choices() -> None:
    pool = machine("dgx-h200", hugepages_1gi_per_numa_node=64)

    assert facts(pool) == {
        "name": "p",
        "purpose": "training",
        "gpus": 8,
        "exclusive": False,
        "shares_gpus": False,
        "spot": False,
        "rdma": "",
        "rdma_on_host": False,
        "hugepages_1gi_mib": 131072,
        "hugepages_2mi_mib": 0,
        "shapes": [
            {
                "gpus": 8,
                "cpus": 216,
                "cpus_in_multiples_of": 2,
                "memory_mib": 1952768,
                "hugepages_1gi_mib": 131072,
                "hugepages_2mi_mib": 0,
            }
        ],
        "mig_profiles": [],
        "architecture": "sm_90",
        "runs": list(architectures("NVIDIA H200")),
        "driver": 570,
        "newest_cuda": 12,
        "gpu_memory_mib": 144384,
        "cpus_per_gpu": 27,
        "memory_mib_per_gpu": 244096,
    }


def test_pools_that_share_their_gpus_tell_what_they_hand_out() -> None:
    sliced = facts(replace(machine("gex44"), sharing=SLICED))
    cut = facts(replace(machine("dgx-h200", "inference"), sharing=CUT))

    assert [sizes(each) for each in sliced["shapes"]] == [(4, 16, 1, 63232, 0, 0)]
    assert "cpus_per_gpu" not in sliced
    assert cut["shapes"] == []
    assert cut["mig_profiles"] == ["1g.18gb", "3g.71gb"]


def test_a_machine_without_gpus_has_huge_pages_and_a_purpose_alone() -> None:
    found = facts(machine("ccx33", "batch", housekeeping_cores_per_numa_node=1))

    assert {key for key, value in found.items() if value} == {"name", "purpose"}
    assert set(found) == Pool.__required_keys__


@pytest.mark.parametrize("name", names())
def test_what_is_told_has_the_form_that_rules_are_promised(name: str) -> None:
    pool = machine(name, housekeeping_cores_per_numa_node=1)

    Draft202012Validator(SCHEMA).validate({"pools": [facts(pool)]})


@pytest.mark.parametrize(
    ("name", "fabric", "resource"),
    [
        ("dgx-h200", "infiniband", "rdma/rails"),
        ("dgx-h200", "roce", "rdma/rails"),
        ("dgx-h200", None, ""),
        ("gex44", None, ""),
    ],
)
def test_pods_of_owned_machines_get_rails_where_the_pool_has_a_fabric(
    name: str, fabric: Any, resource: str
) -> None:
    said = declared(name, "training", Tuning())
    assert isinstance(said, BareMetalPoolSettings)

    found = facts(resolve("p", replace(said, fabric=fabric), load(name)))
    assert found["rdma"] == resource
    assert found["rdma_on_host"] is (fabric == "roce"), "a pod's own network has no RoCE address"


def test_pods_of_rented_machines_get_efa_where_the_environment_has_its_driver() -> None:
    said = declared("p5e.48xlarge", "training", Tuning())
    for efa, resource in ((False, ""), (True, "vpc.amazonaws.com/efa")):
        found = resolve("p", said, load("p5e.48xlarge"), efa=efa)
        assert facts(found)["rdma"] == resource


def test_a_gpu_that_is_handed_out_repeatedly_has_its_part_of_the_memory() -> None:
    assert facts(replace(machine("gex44"), sharing=SLICED))["gpu_memory_mib"] == 5120
    assert "gpu_memory_mib" not in facts(replace(machine("dgx-h200", "inference"), sharing=CUT))


@pytest.mark.parametrize(("driver", "branch", "cuda"), [("535", 535, 12), ("570-open", 570, 12)])
def test_the_driver_says_which_cuda_runs(driver: str, branch: int, cuda: int) -> None:
    found = facts(machine("gex44"), nvidia_driver=driver)

    assert (found["driver"], found["newest_cuda"]) == (branch, cuda)


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_the_architecture_of_every_gpu_of_the_catalogue_is_known(name: str) -> None:
    major, minor = CAPABILITIES[load(name).gpus[0].model]

    assert facts(machine(name))["architecture"] == f"sm_{major}{minor}"
