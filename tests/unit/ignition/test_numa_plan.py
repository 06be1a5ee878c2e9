"""The plan that follows from a machine's wiring: CPU sets, kernel arguments, kubelet, sysctls."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardware.catalogue import Hardware, NumaNode, load, names
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import NumaPlan, PlanError, plan
from ignition.plan.system import lines
from ignition.plan.tuning import PURPOSES, Purpose, Tuning

every_machine = pytest.mark.parametrize("name", names())
every_purpose = pytest.mark.parametrize("purpose", PURPOSES)
ONE_CORE = Tuning(housekeeping_cores_per_numa_node=1)
PLACEBO = ("nohz", "rcu_nocb", "pcie_acs", "NVreg", "default_hugepagesz")


def dgx(purpose: Purpose = "training", **choices: Any) -> NumaPlan:
    return plan(load("dgx-h200"), Tuning(**choices), purpose)


def test_a_dgx_with_four_housekeeping_cores_is_split_as_the_worked_example() -> None:
    planned = dgx(housekeeping_cores_per_numa_node=4)
    assert planned.housekeeping == "0-3,56-59,112-115,168-171"
    assert planned.workload == "4-55,60-111,116-167,172-223"
    assert [node.workload for node in planned.nodes] == ["4-55,116-167", "60-111,172-223"]


@every_machine
@every_purpose
def test_housekeeping_and_workload_share_no_core_and_leave_none_out(
    name: str, purpose: Purpose
) -> None:
    hardware = load(name)
    planned = plan(hardware, ONE_CORE, purpose)
    housekeeping, workload = parse_list(planned.housekeeping), parse_list(planned.workload)
    assert not housekeeping & workload
    assert housekeeping | workload == parse_list(hardware.cpus)
    assert all(core <= housekeeping or core <= workload for core in hardware.cores())


@given(st.lists(st.integers(2, 40), min_size=1, max_size=8), st.integers(1, 3), st.integers(1, 3))
def test_any_wiring_is_split_by_whole_cores_on_each_node(
    cores: list[int], smt: int, wanted: int
) -> None:
    hardware = wired(cores, smt)
    if any(wanted >= count for count in cores):
        with pytest.raises(PlanError, match="housekeeping_cores_per_numa_node"):
            plan(hardware, Tuning(housekeeping_cores_per_numa_node=wanted), "batch")
        return
    planned = plan(hardware, Tuning(housekeeping_cores_per_numa_node=wanted), "batch")
    for node, wiring in zip(planned.nodes, hardware.numa_nodes, strict=True):
        assert len(parse_list(node.housekeeping)) == wanted * smt
        assert parse_list(node.housekeeping) | parse_list(node.workload) == parse_list(wiring.cpus)
    assert sum(node.reserved_memory_mib for node in planned.nodes) == kept_mib(planned)


def wired(cores: list[int], smt: int) -> Hardware:
    total, first, nodes = sum(cores), 0, []
    for number, count in enumerate(cores):
        threads = tuple(
            f"{first + thread * total}-{first + count - 1 + thread * total}"
            for thread in range(smt)
        )
        nodes.append(NumaNode(id=number, threads=threads, memory_gib=16 * (number + 1)))
        first += count
    return dataclasses.replace(load("ccx33"), numa_nodes=tuple(nodes), name="wired")


def mib(quantity: object) -> int:
    return int(str(quantity).removesuffix("Mi"))


def kept_mib(planned: NumaPlan) -> int:
    kubelet: dict[str, Any] = dict(planned.kubelet)
    reserved = mib(kubelet["kubeReserved"]["memory"]) + mib(kubelet["systemReserved"]["memory"])
    return reserved + mib(kubelet["evictionHard"]["memory.available"])


@pytest.mark.parametrize("wanted", [0, -1, 56, 100])
def test_a_split_that_leaves_a_side_without_core_is_refused(wanted: int) -> None:
    with pytest.raises(PlanError, match=rf"{wanted} of the 56 cores .* allowed is 1 to 55"):
        dgx(housekeeping_cores_per_numa_node=wanted)


def test_interrupts_and_isolation_name_the_same_split() -> None:
    planned = dgx()
    assert f"irqaffinity={planned.housekeeping}" in planned.kernel_arguments
    assert f"isolcpus=managed_irq,{planned.workload}" in planned.kernel_arguments
    assert planned.cpu_affinity == planned.housekeeping


def test_domain_isolation_comes_only_when_asked_for() -> None:
    exclusive = dgx("realtime", isolation="exclusive")
    assert f"isolcpus=managed_irq,domain,{exclusive.workload}" in exclusive.kernel_arguments
    assert not any("domain" in argument for argument in dgx().kernel_arguments)


@pytest.mark.parametrize("purpose", [each for each in PURPOSES if each != "realtime"])
def test_cpus_that_nothing_balances_are_refused_but_for_realtime(purpose: Purpose) -> None:
    with pytest.raises(PlanError) as caught:
        dgx(purpose, isolation="exclusive")
    assert str(caught.value) == (
        f"tuning.isolation: exclusive for purpose {purpose}: the kernel spreads no threads over "
        "isolated CPUs, so that all threads of a pod run on one of its CPUs unless the program "
        "pins each (https://github.com/kubernetes/kubernetes/issues/96091); allowed is shared, or "
        "purpose realtime"
    )


def test_a_realtime_node_waits_for_nothing() -> None:
    found = dgx("realtime")
    assert {"intel_idle.max_cstate=1", "skew_tick=1", "nowatchdog"} <= set(found.kernel_arguments)
    assert "transparent_hugepage=never" in found.kernel_arguments
    assert found.kubelet["topologyManagerPolicy"] == "single-numa-node"
    assert "nowatchdog" not in dgx().kernel_arguments, "training wants to hear of lockups"


def test_a_realtime_node_may_let_its_cpus_sleep() -> None:
    assert "intel_idle.max_cstate=1" not in dgx("realtime", power="default").kernel_arguments


@every_machine
def test_bare_metal_of_amd64_runs_at_full_clock_from_the_boot_on(name: str) -> None:
    wanted = "cpufreq.default_governor=performance"
    found = plan(load(name), ONE_CORE, "training")
    assert (wanted in found.kernel_arguments) is (not load(name).virtual)
    assert (found.system.governor == "performance") is (wanted in found.kernel_arguments)


def test_a_guest_with_one_numa_node_gets_no_isolation_without_a_reason() -> None:
    planned = plan(load("ccx33"), ONE_CORE, "batch")
    assert planned.kernel_arguments == ()
    assert planned.cpu_affinity is None


def test_a_guest_with_one_numa_node_is_isolated_when_asked() -> None:
    tuning = Tuning(housekeeping_cores_per_numa_node=1, isolation="exclusive")
    planned = plan(load("ccx33"), tuning, "realtime")
    isolation = ("irqaffinity=0-1", "isolcpus=managed_irq,domain,2-7")
    assert planned.kernel_arguments[:2] == isolation


def test_each_hugepage_size_is_one_item_with_its_counts_by_node() -> None:
    planned = dgx(hugepages_1gi_per_numa_node=32, hugepages_2mi_per_numa_node=64)
    assert "hugepagesz=1G hugepages=0:32,1:32" in planned.kernel_arguments
    assert "hugepagesz=2M hugepages=0:64,1:64" in planned.kernel_arguments


def test_hugepages_of_a_single_node_are_a_plain_count() -> None:
    tuning = Tuning(housekeeping_cores_per_numa_node=1, hugepages_2mi_per_numa_node=512)
    assert plan(load("ccx33"), tuning, "batch").kernel_arguments == ("hugepagesz=2M hugepages=512",)


def test_more_hugepages_than_a_node_can_give_are_refused_with_what_it_can() -> None:
    with pytest.raises(PlanError, match=r"take 1024000 MiB of NUMA node 0 .* allowed are 937062"):
        dgx(hugepages_1gi_per_numa_node=1000)


def test_negative_hugepages_are_refused() -> None:
    with pytest.raises(PlanError, match="hugepages_2mi_per_numa_node: -1 is negative"):
        dgx(hugepages_2mi_per_numa_node=-1)


def test_the_iommu_is_set_on_bare_metal_and_never_in_guests() -> None:
    assert {"intel_iommu=on", "iommu=pt"} <= set(dgx().kernel_arguments)
    for guest in ("p5e.48xlarge", "p5en.48xlarge", "ccx33"):
        arguments = plan(load(guest), ONE_CORE, "training").kernel_arguments
        assert not any("iommu" in argument for argument in arguments)


def test_an_amd_machine_never_gets_the_intel_argument() -> None:
    amd = dataclasses.replace(load("dgx-h200"), cpu_vendor="amd")
    arguments = plan(amd, ONE_CORE, "training").kernel_arguments
    assert "iommu=pt" in arguments
    assert "intel_iommu=on" not in arguments


@pytest.mark.parametrize(
    ("purpose", "mode"), [("training", "always"), ("inference", "madvise"), ("batch", None)]
)
def test_transparent_hugepages_follow_the_purpose(purpose: Purpose, mode: str | None) -> None:
    modes = [a.split("=")[1] for a in dgx(purpose).kernel_arguments if a.startswith("transp")]
    assert modes == ([mode] if mode else [])


@every_machine
@every_purpose
def test_nothing_is_written_that_the_stock_kernel_ignores(name: str, purpose: Purpose) -> None:
    arguments = plan(load(name), ONE_CORE, purpose).kernel_arguments
    assert not [a for a in arguments if any(word in a for word in PLACEBO)]


@every_machine
@every_purpose
def test_reserved_memory_sums_to_what_kubelet_keeps(name: str, purpose: Purpose) -> None:
    planned = plan(load(name), ONE_CORE, purpose)
    assert sum(node.reserved_memory_mib for node in planned.nodes) == kept_mib(planned)
    entries: Any = planned.kubelet.get("reservedMemory")
    if len(load(name).numa_nodes) == 1:
        assert entries is None
    else:
        assert sum(mib(entry["limits"]["memory"]) for entry in entries) == kept_mib(planned)


def test_a_training_pool_lets_pods_take_the_gpus_of_both_nodes() -> None:
    kubelet: dict[str, Any] = dict(dgx().kubelet)
    assert kubelet["topologyManagerPolicy"] == "best-effort"
    assert kubelet["topologyManagerPolicyOptions"] == {"prefer-closest-numa-nodes": "true"}
    assert kubelet["cpuManagerPolicyOptions"]["distribute-cpus-across-numa"] == "true"


def test_an_inference_pool_keeps_pods_on_one_node() -> None:
    kubelet: dict[str, Any] = dict(dgx("inference").kubelet)
    assert kubelet["topologyManagerPolicy"] == "single-numa-node"
    assert kubelet["topologyManagerScope"] == "pod"
    assert "distribute-cpus-across-numa" not in kubelet["cpuManagerPolicyOptions"]


@every_purpose
def test_a_machine_with_one_numa_node_has_nothing_to_align(purpose: Purpose) -> None:
    kubelet = plan(load("ccx33"), ONE_CORE, purpose).kubelet
    assert not {"topologyManagerPolicy", "memoryManagerPolicy", "reservedMemory"} & kubelet.keys()
    assert kubelet["cpuManagerPolicy"] == "static"


def test_kubelet_reserves_the_housekeeping_cpus() -> None:
    planned = dgx(housekeeping_cores_per_numa_node=4)
    assert planned.kubelet["reservedSystemCPUs"] == planned.housekeeping


def test_write_back_is_bounded_where_training_writes_checkpoints() -> None:
    assert dgx().sysctls["vm.dirty_bytes"] == str(16 * 1024**3)
    assert "vm.dirty_bytes" not in dgx("inference").sysctls
    assert "vm.dirty_bytes" not in plan(load("ccx33"), ONE_CORE, "training").sysctls


@every_machine
@every_purpose
def test_every_line_has_a_reason_and_a_source(name: str, purpose: Purpose) -> None:
    tuning = Tuning(housekeeping_cores_per_numa_node=1, hugepages_1gi_per_numa_node=1)
    planned = plan(load(name), tuning, purpose)
    written = {
        *planned.kernel_arguments,
        *(f"{name} = {value}" for name, value in planned.sysctls.items()),
        *(f"kubelet {name}" for name in planned.kubelet),
        *(line.text for line in lines(planned.system, tuning)),
    }
    assert planned.reasons.keys() == written
    assert all(reason.reason for reason in planned.reasons.values())
    assert all(reason.source.startswith("https://") for reason in planned.reasons.values())


def test_a_gpu_machine_on_arm_is_refused_because_it_has_no_driver() -> None:
    grace = dataclasses.replace(load("dgx-h200"), arch="arm64", name="grace")
    with pytest.raises(PlanError, match=r"grace has GPUs on arm64.*amd64 alone"):
        plan(grace, ONE_CORE, "training")


def test_the_digest_changes_with_the_plan_and_only_with_it() -> None:
    assert dgx().digest == dgx().digest
    assert len(dgx().digest) == 8
    others = [dgx("inference"), dgx(hugepages_1gi_per_numa_node=1), dgx("realtime")]
    assert len({dgx().digest, *(other.digest for other in others)}) == 4
