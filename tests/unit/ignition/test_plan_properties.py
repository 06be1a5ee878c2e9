"""What holds for every machine of the catalogue, every purpose and every choice that it carries."""

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardware.catalogue import Hardware, load, names
from hardware.cpuset import parse_list
from ignition.boot.node import boot
from ignition.plan.numa_plan import NumaPlan, plan
from ignition.plan.refused_arguments import ARGUMENTS, OPTIONS
from ignition.plan.system import lines
from ignition.plan.topology_manager import gpus_per_numa_node
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from ignition.write.plan_json import expectations
from tests.support.ignition.nodes import node, user_data

tunings = st.builds(
    Tuning,
    housekeeping_cores_per_numa_node=st.integers(1, 4),
    isolation=st.sampled_from(["shared", "exclusive"]),
    hugepages_1gi_per_numa_node=st.sampled_from([0, 0, 1, 16]),
    hugepages_2mi_per_numa_node=st.sampled_from([0, 0, 64, 2564]),
    largest_pod_gpus=st.sampled_from([None, None, 1, 2, 4, 8]),
    iommu=st.sampled_from(["passthrough", "passthrough", "vfio", "off"]),
    irq=st.sampled_from(["housekeeping", "housekeeping", "numa-local"]),
    power=st.sampled_from([None, "default", "performance"]),
    transparent_hugepages=st.sampled_from([None, "always", "madvise", "never"]),
    realtime=st.booleans(),
    hugetlb_shm_group=st.sampled_from([None, None, 1000]),
    background_io_mib_per_s=st.sampled_from([None, None, 200]),
    extra_kernel_arguments=st.sampled_from([(), (), ("skew_tick=1",)]),
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Hardware, Tuning, NumaPlan]:
    """A plan that can be made; choices that a machine cannot carry are left to test_choices."""
    hardware = load(draw(st.sampled_from(names())))
    purpose: Purpose = draw(st.sampled_from(PURPOSES))
    tuning = carried(hardware, draw(tunings), purpose)
    return hardware, tuning, plan(hardware, tuning, purpose)


def carried(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Tuning:
    """The choices without those that machine, purpose or another choice excludes."""
    cores = min(len(node.cores()) for node in hardware.numa_nodes)
    memory = min(node.memory_gib for node in hardware.numa_nodes)
    gib = tuning.hugepages_1gi_per_numa_node if memory >= 64 else 0
    mib2 = tuning.hugepages_2mi_per_numa_node if memory >= 64 else 0
    exclusive = tuning.isolation == "exclusive" and purpose == "realtime"
    largest = tuning.largest_pod_gpus
    return dataclasses.replace(
        tuning,
        housekeeping_cores_per_numa_node=min(tuning.housekeeping_cores_per_numa_node, cores - 1),
        hugepages_1gi_per_numa_node=gib,
        hugepages_2mi_per_numa_node=mib2,
        hugetlb_shm_group=tuning.hugetlb_shm_group if gib or mib2 else None,
        largest_pod_gpus=largest if largest and largest <= hardware.gpu_count else None,
        iommu="passthrough" if hardware.virtual else tuning.iommu,
        power=None if hardware.virtual else tuning.power,
        isolation="exclusive" if exclusive else "shared",
        extra_kernel_arguments=() if purpose == "realtime" else tuning.extra_kernel_arguments,
        irq="housekeeping" if exclusive else tuning.irq,
        realtime=tuning.realtime and exclusive,
    )


def cpu_lists(planned: NumaPlan) -> Iterator[str]:
    """Every CPU list that the plan writes."""
    yield from (planned.housekeeping, planned.workload, *planned.irq_cpus.values())
    for part in planned.nodes:
        yield from (part.housekeeping, part.workload)
    for argument in planned.kernel_arguments:
        if argument.startswith(("irqaffinity=", "isolcpus=")):
            yield re.sub(r"^[a-z_,=]+(?=\d)", "", argument)
    yield str(planned.kubelet["reservedSystemCPUs"])
    if planned.cpu_affinity is not None:
        yield planned.cpu_affinity


@given(plans())
def test_sets_are_disjoint_complete_and_made_of_whole_cores(
    made: tuple[Hardware, Tuning, NumaPlan],
) -> None:
    hardware, tuning, planned = made
    housekeeping, workload = parse_list(planned.housekeeping), parse_list(planned.workload)
    assert not housekeeping & workload
    assert housekeeping | workload == parse_list(hardware.cpus)
    for text in cpu_lists(planned):
        named = parse_list(text)
        assert all(core <= named or not core & named for core in hardware.cores()), text
    for wired, part in zip(hardware.numa_nodes, planned.nodes, strict=True):
        kept = [core for core in wired.cores() if core <= parse_list(part.housekeeping)]
        assert len(kept) == tuning.housekeeping_cores_per_numa_node


@given(plans())
def test_kernel_kubelet_and_systemd_name_the_same_cpus(
    made: tuple[Hardware, Tuning, NumaPlan],
) -> None:
    _, tuning, planned = made
    given = dict(argument.partition("=")[::2] for argument in planned.kernel_arguments)
    assert planned.kubelet["reservedSystemCPUs"] == planned.housekeeping
    assert planned.cpu_affinity in (None, planned.housekeeping)
    if "irqaffinity" in given:
        assert given["irqaffinity"] == planned.housekeeping
        flags = "managed_irq,domain" if tuning.isolation == "exclusive" else "managed_irq"
        assert given["isolcpus"] == f"{flags},{planned.workload}"
    else:
        assert "isolcpus" not in given


@given(plans())
def test_interrupts_of_a_device_stay_on_its_own_numa_node(
    made: tuple[Hardware, Tuning, NumaPlan],
) -> None:
    hardware, tuning, planned = made
    for irq in planned.irqs:
        node = parse_list(hardware.numa_nodes[irq.numa_node].cpus)
        assert parse_list(irq.cpus) <= node
        if tuning.irq == "housekeeping":
            assert parse_list(irq.cpus) == node & parse_list(planned.housekeeping)
        else:
            assert parse_list(irq.cpus) == node
    devices = len(hardware.gpus) + len(hardware.nics)
    known = devices + sum(drive.numa_node is not None for drive in hardware.nvme)
    assert len(planned.irqs) == (known if planned.system.places_interrupts else 0)


def mib(quantity: object) -> int:
    return int(str(quantity).removesuffix("Mi"))


@given(plans())
def test_reserved_memory_sums_exactly_and_leaves_room_on_each_node(
    made: tuple[Hardware, Tuning, NumaPlan],
) -> None:
    hardware, _, planned = made
    kubelet: dict[str, Any] = dict(planned.kubelet)
    kept = sum(mib(kubelet[name]["memory"]) for name in ("kubeReserved", "systemReserved"))
    kept += mib(kubelet["evictionHard"]["memory.available"])
    assert sum(node.reserved_memory_mib for node in planned.nodes) == kept
    entries = kubelet.get("reservedMemory", [])
    if len(hardware.numa_nodes) > 1:
        assert [entry["numaNode"] for entry in entries] == [node.id for node in hardware.numa_nodes]
        assert sum(mib(entry["limits"]["memory"]) for entry in entries) == kept
    for entry in entries:
        assert entry["limits"].keys() == {"memory"}, "kubelet cannot reserve huge pages"
        assert mib(entry["limits"]["memory"]) > 0
    for wired, part in zip(hardware.numa_nodes, planned.nodes, strict=True):
        pages = part.hugepages_1gi * 1024 + part.hugepages_2mi * 2
        assert pages + part.reserved_memory_mib < wired.memory_gib * 1024
    free = int(planned.sysctls.get("vm.min_free_kbytes", 0))
    assert free < kept * 1024, "the kernel's own reserve is a part of what is kept from pods"


@given(plans())
def test_no_placebo_is_ever_written(made: tuple[Hardware, Tuning, NumaPlan]) -> None:
    hardware, _, planned = made
    words = [word for item in planned.kernel_arguments for word in item.split()]
    assert not {word.partition("=")[0] for word in words} & ARGUMENTS.keys()
    assert not any(word.startswith("pci=") or "nohz" in word for word in words)
    assert not any(option in text for option in OPTIONS for text in planned.reasons)
    if hardware.virtual:
        assert not [word for word in words if re.search(r"iommu|cstate|aspm", word)]
    if hardware.cpu_vendor != "intel":
        assert not [word for word in words if word.startswith("intel")]
    if hardware.pcie_aspm != "off":
        assert not [word for word in words if "aspm" in word]


@given(plans())
def test_an_argument_names_each_thing_once(made: tuple[Hardware, Tuning, NumaPlan]) -> None:
    items = made[2].kernel_arguments
    assert len(set(items)) == len(items)
    names_of = [item.partition("=")[0] for item in items if not item.startswith("hugepagesz")]
    assert len(set(names_of)) == len(names_of)
    assert all(" " not in item or item.startswith("hugepagesz=") for item in items)


@given(plans())
def test_the_policy_admits_the_largest_pod(made: tuple[Hardware, Tuning, NumaPlan]) -> None:
    hardware, tuning, planned = made
    kubelet: dict[str, Any] = dict(planned.kubelet)
    policy = kubelet.get("topologyManagerPolicy")
    assert policy in (None, "best-effort", "single-numa-node"), "restricted refuses 8 GPUs"
    if tuning.largest_pod_gpus is not None and len(hardware.numa_nodes) > 1:
        fits = tuning.largest_pod_gpus <= gpus_per_numa_node(hardware)
        assert policy == ("single-numa-node" if fits else "best-effort")
    options = kubelet.get("cpuManagerPolicyOptions", {})
    if policy == "single-numa-node":
        assert "distribute-cpus-across-numa" not in options
    assert not {"distribute-cpus-across-numa", "prefer-align-cpus-by-uncorecache"} <= set(options)
    several = options, kubelet.get("topologyManagerPolicyOptions", {})
    assert all(isinstance(value, str) for each in several for value in each.values())


@given(plans())
def test_every_line_has_a_reason_and_a_source(made: tuple[Hardware, Tuning, NumaPlan]) -> None:
    _, tuning, planned = made
    assert planned.reasons.keys() == {
        *planned.kernel_arguments,
        *(f"{name} = {value}" for name, value in planned.sysctls.items()),
        *(f"kubelet {name}" for name in planned.kubelet),
        *(line.text for line in lines(planned.system, tuning)),
    }
    for reason in planned.reasons.values():
        assert reason.reason
        assert reason.source.startswith("https://")


@given(plans())
@settings(max_examples=40)
def test_what_lies_on_the_node_is_the_plan_as_json(
    made: tuple[Hardware, Tuning, NumaPlan],
) -> None:
    hardware, _, planned = made
    written = expectations(hardware, planned, nvidia_driver="570-open")
    assert json.loads(json.dumps(written)) == written
    assert written["digest"] == planned.digest
    assert written["kernel_arguments"] == list(planned.kernel_arguments)
    assert written["sysctls"] == dict(planned.sysctls)


@given(plans())
@settings(max_examples=60, deadline=None)  # bash reads each new script
def test_a_node_boots_with_whatever_its_machine_carries(
    made: tuple[Hardware, Tuning, NumaPlan],
) -> None:
    hardware, tuning, planned = made
    boot_data = user_data(node(hardware.name, tuning=tuning, purpose=planned.purpose))
    assert boot(boot_data, hardware).problems == ()


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("purpose", PURPOSES)
def test_every_machine_has_a_plan_for_every_purpose(name: str, purpose: Purpose) -> None:
    assert plan(load(name), Tuning(housekeeping_cores_per_numa_node=1), purpose).digest
