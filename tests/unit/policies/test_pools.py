"""What the rules are told of an environment's pools, held to kubelet's own algorithms."""

import re
from dataclasses import replace
from typing import Any

import pytest

from hardware.catalogue import load, names
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from ignition.shapes import ContainerRequest, admit, from_plan, largest
from policies.language.cuda import CAPABILITIES, architectures
from policies.pools import PoolFacts, rule_settings
from policies.rules import ALL

GPU_MACHINES = [name for name in names() if load(name).gpus]


def facts(name: str, purpose: Purpose = "training", **tuning: Any) -> PoolFacts:
    hardware = load(name)
    return PoolFacts(hardware=hardware, plan=plan(hardware, replace(Tuning(), **tuning), purpose))


def lines(rule: str, pool: PoolFacts) -> list[str]:
    return rule_settings({"p": pool})[rule]["pools"]


@pytest.mark.parametrize("pages", [(0, 0), (2, 512)])
@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("name", GPU_MACHINES)
def test_the_largest_shape_is_admitted_and_nothing_beyond_it(
    name: str, purpose: Purpose, pages: tuple[int, int]
) -> None:
    gib, mib = pages
    pool = facts(name, purpose, hugepages_1gi_per_numa_node=gib, hugepages_2mi_per_numa_node=mib)
    node = from_plan(pool.hardware, pool.plan)
    for line in lines("numa/admissible-shape", pool):
        gpus, cpus, memory, group, gib, mib = map(int, line.split(" ")[1:])
        gib, mib = gib // 1024, mib // 2
        shape = ContainerRequest(
            gpus=gpus, cpus=cpus, memory_mib=memory, hugepages_1gi=gib, hugepages_2mi=mib
        )

        assert admit(node, [shape]).admitted
        for wrong in (
            replace(shape, gpus=gpus + 1),
            replace(shape, cpus=cpus + group),
            replace(shape, memory_mib=memory + 1),
            replace(shape, hugepages_1gi=gib + 1),
            replace(shape, hugepages_2mi=mib + 1),
            *([replace(shape, cpus=cpus - 1)] if group > 1 else []),
        ):
            assert not admit(node, [wrong]).admitted


@pytest.mark.parametrize("name", ["dgx-h200", "p5e.48xlarge", "gex44"])
def test_the_shapes_are_those_of_the_search_over_kubelets_algorithms(name: str) -> None:
    for purpose in PURPOSES:
        pool = facts(name, purpose)
        found = largest(pool.hardware, pool.plan)
        (line,) = lines("numa/admissible-shape", pool)
        gpus, cpus, memory, *_ = map(int, line.split(" ")[1:])

        assert {(shape.cpus, shape.memory_mib) for shape in found} == {(cpus, memory)}
        assert gpus == max(shape.gpus for shape in found)


def test_a_pod_of_one_numa_node_has_its_huge_pages_alone() -> None:
    pages: dict[str, int] = {"hugepages_1gi_per_numa_node": 32, "hugepages_2mi_per_numa_node": 512}
    node, machine = facts("dgx-h200", "inference", **pages), facts("dgx-h200", "training", **pages)

    assert lines("numa/admissible-shape", node) == ["p 4 108 1008128 2 32768 1024"]
    assert lines("numa/admissible-shape", machine) == ["p 8 216 2016256 2 65536 2048"]


def test_numa_nodes_of_which_none_has_all_that_another_has_are_told_each() -> None:
    pool = facts("dgx-h200", "inference", hugepages_1gi_per_numa_node=32)
    first, second = pool.plan.nodes
    uneven = replace(first, hugepages_1gi=64), second

    found = lines("numa/admissible-shape", replace(pool, plan=replace(pool.plan, nodes=uneven)))

    assert found == ["p 4 108 976384 2 65536 0", "p 4 108 1009152 2 32768 0"]


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_a_pod_with_the_whole_machine_stays_within_its_share(name: str) -> None:
    pool = facts(name)
    node = from_plan(pool.hardware, pool.plan)
    (line,) = lines("numa/share", pool)
    cpus, memory = map(int, line.split(" ")[1:])

    assert cpus * node.gpu_count >= node.allocatable["cpu"]
    assert memory * node.gpu_count >= node.allocatable["memory"]


def test_a_dgx_tells_what_follows_from_its_choices() -> None:
    pool = facts("dgx-h200", isolation="exclusive", hugepages_1gi_per_numa_node=64)

    assert {rule: found["pools"] for rule, found in rule_settings({"dgx": pool}).items()} == {
        "numa/admissible-shape": ["dgx 8 216 1952768 2 131072 0"],
        "numa/share": ["dgx 27 244096"],
        "numa/hugepages": ["dgx 131072 0"],
        "numa/pod-purpose": ["dgx training"],
        "numa/exclusive-pods": ["dgx"],
        "numa/memory-limit": ["dgx"],
        "numa/mig-profile": ["dgx"],
        "numa/gpudirect": ["dgx rdma"],
        "numa/gpu-memory": ["dgx 144384"],
        "numa/image-architectures": [f"dgx sm_90 {' '.join(architectures('NVIDIA H200'))}"],
        "numa/cuda-version": [],
    }


def test_pools_that_share_their_gpus_tell_what_they_hand_out() -> None:
    sliced = replace(facts("gex44"), copies=4)
    cut = replace(facts("dgx-h200", "inference"), copies=0, mig_profiles=("1g.18gb", "3g.71gb"))

    assert lines("numa/admissible-shape", sliced) == ["p 4 16 63232 1 0 0"]
    assert lines("numa/share", sliced) == []
    assert lines("numa/admissible-shape", cut) == ["p 0 0 0 1 0 0"]
    assert lines("numa/mig-profile", cut) == ["p 1g.18gb 3g.71gb"]


def test_a_machine_without_gpus_has_huge_pages_and_a_purpose_alone() -> None:
    found = rule_settings({"cpu": facts("ccx33", "batch", housekeeping_cores_per_numa_node=1)})

    assert {rule for rule, value in found.items() if value["pools"]} == {
        "numa/admissible-shape",
        "numa/hugepages",
        "numa/pod-purpose",
    }
    assert found["numa/admissible-shape"] == {"pools": ["cpu 0 0 0 1 0 0"]}


@pytest.mark.parametrize("name", names())
def test_every_line_has_the_form_that_its_rule_allows(name: str) -> None:
    known = {rule.id: rule for rule in ALL}
    pool = facts(name, housekeeping_cores_per_numa_node=1)
    for rule, value in rule_settings({"p-1": pool}).items():
        pattern = known[rule].schema["pools"]["items"]["pattern"]  # type: ignore[index]  # a mapping
        assert all(re.fullmatch(pattern, line) for line in value["pools"])


def test_rdma_is_there_with_a_driver_for_the_network_cards() -> None:
    assert lines("numa/gpudirect", facts("gex44")) == ["p none"]
    assert lines("numa/gpudirect", facts("p5e.48xlarge")) == ["p none"]
    assert lines("numa/gpudirect", replace(facts("p5e.48xlarge"), efa_driver=True)) == ["p rdma"]


def test_a_gpu_that_is_handed_out_repeatedly_has_its_part_of_the_memory() -> None:
    assert lines("numa/gpu-memory", replace(facts("gex44"), copies=4)) == ["p 5120"]
    assert lines("numa/gpu-memory", replace(facts("dgx-h200", "inference"), copies=0)) == []


@pytest.mark.parametrize(
    ("driver", "line"), [("535", "p 535 12"), ("570-open", "p 570 12"), ("580-open", "p 580 13")]
)
def test_the_driver_says_which_cuda_runs(driver: str, line: str) -> None:
    assert lines("numa/cuda-version", replace(facts("gex44"), nvidia_driver=driver)) == [line]


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_the_architecture_of_every_gpu_of_the_catalogue_is_known(name: str) -> None:
    model = load(name).gpus[0].model
    major, minor = CAPABILITIES[model]

    (line,) = lines("numa/image-architectures", facts(name))

    assert line.startswith(f"p sm_{major}{minor} ")
