"""What a plan writes beside CPU sets: IOMMU, power, memory, units, limits and module options."""

import dataclasses
import json
from typing import Any

import pytest

from hardware.catalogue import Hardware, load, names
from ignition.plan.numa_plan import NumaPlan, plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from ignition.write.plan_json import expectations
from ignition.write.render import tuning_butane, tuning_ignition
from tests.support.ignition.nodes import PURPOSE_OF, node

every_machine = pytest.mark.parametrize("name", names())
ONE_CORE = Tuning(housekeeping_cores_per_numa_node=1)


def planned(
    machine: str | Hardware = "dgx-h200", purpose: Purpose = "training", **choices: Any
) -> NumaPlan:
    hardware = load(machine) if isinstance(machine, str) else machine
    return plan(hardware, dataclasses.replace(ONE_CORE, **choices), purpose)


def butane(machine: str = "dgx-h200", **choices: Any) -> str:
    return tuning_butane(node(machine, tuning=dataclasses.replace(ONE_CORE, **choices)))


@pytest.mark.parametrize(
    ("machine", "iommu", "written"),
    [
        ("dgx-h200", "passthrough", {"intel_iommu=on", "iommu=pt"}),
        ("dgx-h200", "vfio", {"intel_iommu=on", "iommu=pt"}),
        ("dgx-h200", "off", {"intel_iommu=off"}),
        ("dgx-a100", "passthrough", {"iommu=pt"}),
        ("dgx-a100", "vfio", {"iommu=pt"}),
        ("dgx-a100", "off", {"amd_iommu=off"}),
        ("p5en.48xlarge", "passthrough", set()),
    ],
)
def test_the_iommu_follows_maker_and_use(machine: str, iommu: str, written: set[str]) -> None:
    arguments = planned(machine, iommu=iommu).kernel_arguments
    assert {argument for argument in arguments if "iommu" in argument} == written


@pytest.mark.parametrize(
    ("machine", "argument"),
    [("dgx-h200", "intel_idle.max_cstate=1"), ("dgx-a100", "processor.max_cstate=1")],
)
def test_deep_sleep_is_kept_off_only_when_asked(machine: str, argument: str) -> None:
    assert argument in planned(machine, power="performance").kernel_arguments
    assert not any("cstate" in each for each in planned(machine).kernel_arguments)


@pytest.mark.parametrize(("aspm", "written"), [("off", True), ("default", False), (None, False)])
def test_aspm_is_left_to_the_firmware_only_where_the_vendor_asks(aspm: Any, written: bool) -> None:
    hardware = dataclasses.replace(load("dgx-h200"), pcie_aspm=aspm)
    assert ("pcie_aspm=off" in planned(hardware).kernel_arguments) is written


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_choice_of_transparent_hugepages_beats_the_purpose(purpose: Purpose) -> None:
    chosen = planned(purpose=purpose, transparent_hugepages="never")
    assert "transparent_hugepage=never" in chosen.kernel_arguments
    assert chosen.transparent_hugepages == "never"


def test_batch_leaves_transparent_hugepages_to_the_kernel() -> None:
    assert planned(purpose="batch").transparent_hugepages is None


def test_real_time_in_pods_needs_no_budget_of_their_own() -> None:
    chosen = planned(purpose="realtime", isolation="exclusive", realtime=True)
    assert chosen.sysctls["kernel.sched_rt_runtime_us"] == "-1"
    alone = planned(purpose="realtime", isolation="exclusive")
    assert "kernel.sched_rt_runtime_us" not in alone.sysctls


def test_a_group_may_share_huge_pages() -> None:
    chosen = planned(hugepages_2mi_per_numa_node=8, hugetlb_shm_group=1000)
    assert chosen.sysctls["vm.hugetlb_shm_group"] == "1000"


@pytest.mark.parametrize(
    ("machine", "kib"), [("dgx-h200", 2 * 1024**2), ("dgx-a100", 2 * 1024**2), ("gex131", 262144)]
)
def test_the_kernels_reserve_grows_with_the_numa_nodes(machine: str, kib: int) -> None:
    assert planned(machine).sysctls["vm.min_free_kbytes"] == str(kib)


def test_a_pod_that_fits_a_numa_node_gets_a_policy_that_keeps_it_there() -> None:
    assert planned(largest_pod_gpus=4).kubelet["topologyManagerPolicy"] == "single-numa-node"
    assert planned(largest_pod_gpus=5).kubelet["topologyManagerPolicy"] == "best-effort"
    a100 = planned("dgx-a100", largest_pod_gpus=4).kubelet
    assert a100["topologyManagerPolicy"] == "best-effort", "two GPUs hang on one of its NUMA nodes"


@pytest.mark.parametrize(("nodes", "option"), [(8, None), (16, "16")])
def test_kubelet_is_allowed_more_than_eight_numa_nodes_only_where_there_are_more(
    nodes: int, option: str | None
) -> None:
    first = load("ccx33").numa_nodes[0]
    wired = tuple(
        dataclasses.replace(first, id=n, threads=(f"{4 * n}-{4 * n + 3}",)) for n in range(nodes)
    )
    many = dataclasses.replace(load("ccx33"), numa_nodes=wired, name="many")
    for purpose in PURPOSES:
        options: Any = planned(many, purpose).kubelet.get("topologyManagerPolicyOptions", {})
        assert options.get("max-allowable-numa-nodes") == option


@every_machine
def test_policy_names_have_the_case_that_kubelet_reads(name: str) -> None:
    kubelet = planned(name).kubelet
    assert kubelet["cpuManagerPolicy"] == "static"
    assert kubelet.get("memoryManagerPolicy", "Static") == "Static"


@every_machine
def test_memory_is_evicted_at_a_quantity_and_never_at_a_percentage(name: str) -> None:
    thresholds: Any = planned(name).kubelet["evictionHard"]
    assert thresholds["memory.available"].endswith("Mi")


def test_whole_cores_are_asked_for_only_where_all_cores_have_as_many_threads() -> None:
    assert "cpuManagerPolicyOptions" not in planned("gex44").kubelet
    options: Any = planned("gex131").kubelet["cpuManagerPolicyOptions"]
    assert options == {"full-pcpus-only": "true"}


def test_epyc_pods_share_few_caches_where_they_do_not_span_numa_nodes() -> None:
    local: Any = planned("dgx-a100", "inference").kubelet["cpuManagerPolicyOptions"]
    assert local["prefer-align-cpus-by-uncorecache"] == "true"
    spanning: Any = planned("dgx-a100").kubelet["cpuManagerPolicyOptions"]
    assert "prefer-align-cpus-by-uncorecache" not in spanning


@every_machine
def test_access_control_is_cleared_on_metal_with_peers_and_without_guests(name: str) -> None:
    hardware = load(name)
    peers = hardware.gpu_count > 1 and not hardware.virtual
    assert planned(name).system.clears_acs is peers
    if not hardware.virtual:
        assert not planned(name, iommu="vfio").system.clears_acs


def test_access_control_is_cleared_before_kubelet() -> None:
    unit = butane().split("- name: fleet-acs.service")[1].split("- name:")[0]
    assert "Before=kubelet.service" in unit
    assert "fleet-acs" not in butane(iommu="vfio")


@every_machine
def test_memory_is_pinned_without_limit_only_where_rdma_needs_it(name: str) -> None:
    hardware = load(name)
    rdma = hardware.efa_interfaces > 0 or any(nic.rdma for nic in hardware.nics)
    assert planned(name).system.unlimited_memlock is rdma


def test_containerd_gets_its_limit_by_a_drop_in_that_sorts_after_nvidias() -> None:
    dropin = butane().split("- name: containerd.service")[1].split("- name:")[1]
    assert dropin.startswith(" 20-fleet.conf")
    assert "LimitMEMLOCK=infinity" in dropin
    assert "ExecStart" not in dropin
    assert "- name: containerd.service" not in butane("ccx33")


@pytest.mark.parametrize(
    ("machine", "imported"),
    [
        ("dgx-h200", "/etc/containerd/config-nvidia.toml"),
        ("ccx33", "/usr/share/containerd/config.toml"),
    ],
)
def test_a_class_of_block_io_keeps_the_configuration_that_containerd_has(
    machine: str, imported: str
) -> None:
    text = butane(machine, background_io_mib_per_s=200)
    assert f'imports = ["{imported}"]' in text
    assert "ThrottleWriteBps: 200Mi" in text
    assert "Weight" not in text, "it does nothing without the scheduler bfq"
    assert "ExecStart=/usr/bin/containerd --config /etc/containerd/fleet.toml" in text
    assert "fleet.toml" not in butane(machine)


def test_driver_options_are_one_line_of_modprobe() -> None:
    options = ("NVreg_RestrictProfilingToAdminUsers=0", "NVreg_EnableStreamMemOPs=1")
    assert f"options nvidia {' '.join(options)}\n" in butane(extra_module_options=options)
    assert "modprobe.d" not in butane()


@every_machine
def test_irqbalance_is_masked_everywhere(name: str) -> None:
    assert planned(name).system.masked_units == ("irqbalance.service",)


@pytest.mark.parametrize("machine", PURPOSE_OF)
def test_no_node_loads_the_peer_memory_module_that_needs_ofed(machine: str) -> None:
    assert "peermem" not in butane(machine)


@pytest.mark.parametrize("machine", PURPOSE_OF)
def test_kubelets_state_is_dropped_before_it_starts_on_another_plan(machine: str) -> None:
    text = butane(machine)
    assert "rm --force cpu_manager_state memory_manager_state" in text
    unit = text.split("- name: kubelet-state.service")[1].split("- name:")[0]
    assert "Before=kubelet.service" in unit
    assert "RequiredBy=kubelet.service" in unit


def test_the_console_of_bare_metal_logs_nobody_in() -> None:
    text = tuning_ignition(node("dgx-h200"))
    assert json.loads(text)["kernelArguments"]["shouldNotExist"] == ["flatcar.autologin"]
    for rented in ("p5e.48xlarge", "ccx33"):
        given = json.loads(tuning_ignition(node(rented))).get("kernelArguments", {})
        assert "shouldNotExist" not in given, "their images have no such argument"


def test_the_array_is_made_without_discarding_and_its_device_is_waited_for_from_then_on() -> None:
    text = butane()
    assert 'mkfs.xfs -K -L scratch "$device"' in text
    device = text.split(r"- name: dev-disk-by\x2dlabel-scratch.device")[1].split("- name: scratch")[
        0
    ]
    assert "After=scratch-array.service" in device


def test_the_path_that_watches_scratch_is_no_early_unit() -> None:
    unit = butane().split("- name: scratch-quota.path")[1].split("- name:")[0]
    assert "DefaultDependencies=no" in unit


def test_kubelet_offers_no_gpu_before_fabric_manager_has_joined_it() -> None:
    text = butane()
    unit = text.split("- name: fabric-ready.service")[1].split("- name:")[0]
    for line in ("After=nvidia-fabricmanager.service", "Before=kubelet.service", "Type=oneshot"):
        assert line in unit
    assert "RequiredBy=kubelet.service" in unit
    healthy = text.split("- name: node-healthy.service")[1].split("- name:")[0]
    assert "ExecStart=/opt/bin/fabric-ready" in healthy, "a release with another driver is no good"
    assert "fabric-ready" not in butane("ccx33")


def test_nodes_pull_images_side_by_side_and_bound_the_processes_of_a_pod() -> None:
    for machine in PURPOSE_OF:
        kubelet = planned(machine).kubelet
        assert kubelet["serializeImagePulls"] is False
        assert kubelet["maxParallelImagePulls"] == 5
        assert kubelet["podPidsLimit"] == 65536


def test_files_and_maps_of_many_loaders_have_room() -> None:
    found = planned().sysctls
    assert found["vm.max_map_count"] == "1048576"
    assert found["fs.inotify.max_user_instances"] == "8192"


def test_instances_of_aws_take_the_time_from_their_host() -> None:
    path = "/etc/systemd/timesyncd.conf.d/10-fleet.conf"
    assert "NTP=169.254.169.123\n" in butane("p5e.48xlarge")
    assert path not in butane("dgx-h200"), "Flatcar's own choice"
    chosen = planned(ntp_servers=("ntp1.fleet.example", "10.0.0.1"))
    assert chosen.system.ntp_servers == ("ntp1.fleet.example", "10.0.0.1")
    assert "NTP=ntp1.fleet.example 10.0.0.1" in chosen.reasons


@every_machine
def test_the_governor_is_expected_only_where_the_node_has_one(name: str) -> None:
    hardware = load(name)
    expected = expectations(hardware, planned(name), nvidia_driver=None)["governor"]
    assert expected == (None if hardware.virtual else "performance")


def test_a_small_guest_leaves_its_interrupts_to_the_host() -> None:
    assert planned("ccx33").irqs == ()
    assert "fleet-irq" not in butane("ccx33")


def test_local_interrupts_may_use_every_cpu_of_the_node() -> None:
    chosen = planned(irq="numa-local")
    assert {irq.cpus for irq in chosen.irqs} == {"0-55,112-167", "56-111,168-223"}
    assert not any(a.startswith(("irqaffinity", "isolcpus")) for a in chosen.kernel_arguments)


def test_every_choice_changes_the_digest() -> None:
    choices: list[dict[str, Any]] = [
        {},
        {"iommu": "off"},
        {"iommu": "vfio"},
        {"irq": "numa-local"},
        {"power": "performance"},
        {"transparent_hugepages": "never"},
        {"background_io_mib_per_s": 200},
        {"background_io_mib_per_s": 300},
        {"extra_kernel_arguments": ("skew_tick=1",)},
        {"extra_module_options": ("NVreg_EnableStreamMemOPs=1",)},
        {"largest_pod_gpus": 4},
    ]
    digests = {planned(**choice).digest for choice in choices}
    assert len(digests) == len(choices)
