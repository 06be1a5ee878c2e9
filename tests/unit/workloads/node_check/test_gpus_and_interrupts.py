"""GPUs, their links, and the interrupts of devices, each with what can be wrong with it."""

import pytest

from tests.support.workloads import nvidia_smi_output as recorded
from tests.support.workloads.dgx_tree import GPUS, HOUSEKEEPING, PLAN, Dgx
from workloads.node_check.__main__ import findings
from workloads.node_check.machine import FailedCommandError
from workloads.node_check.nvidia_smi import parse_nvlinks, parse_query, parse_topology

GPU2 = f"GPU 2 ({GPUS[2]})"


@pytest.mark.parametrize(
    ("changed", "beginning"),
    [
        ({"model": "NVIDIA H100"}, f"Model of {GPU2} is NVIDIA H100, expected NVIDIA H200: "),
        ({"memory": 81559}, f"Memory of {GPU2} is 80 GiB, expected 141 GiB: "),
        ({"gen": 4}, f"PCIe generation of {GPU2} is 4, expected 5: reseat"),
        ({"width": 8}, f"PCIe width of {GPU2} is x8, expected x16: reseat"),
        ({"bar1": 256}, f"BAR1 of {GPU2} is 0.25 GiB, expected 256 GiB: turn on Above 4G"),
        ({"persistence": "Disabled"}, f"Persistence mode of {GPU2} is Disabled, expected Enab"),
        ({"ecc": "Disabled"}, f"ECC of {GPU2} is Disabled, after the next reset Enabled, exp"),
        ({"ecc_pending": "Disabled"}, f"ECC of {GPU2} is Enabled, after the next reset Disab"),
        ({"errors": 3}, f"Number of uncorrectable errors of {GPU2} is 3, expected 0: drain"),
        ({"pending": "Yes"}, f"Remapping of rows of {GPU2} is pending, expected done: drain"),
        ({"failure": "Yes"}, f"Remapping of rows of {GPU2} is failed, expected done: drain"),
        ({"slowdown": "Active"}, f"Clock of {GPU2} is held down (hw_slowdown), expected free"),
        ({"clock": "1200 MHz"}, f"Application clock of {GPU2} is 1200 MHz, expected 1980 MHz"),
        (
            {"fabric": "In Progress", "fabric_status": "N/A"},
            f"Fabric of {GPU2} is In Progress / N/A, expected Completed / Success: see the log",
        ),
    ],
)
def test_a_gpu_that_differs_is_told_with_index_and_address(
    dgx: Dgx, changed: dict[str, object], beginning: str
) -> None:
    dgx.gpu(2, **changed)
    (sentence,) = dgx.sentences()
    assert sentence.startswith(beginning)


@pytest.mark.parametrize(
    ("fact", "changed"),
    [
        ("gpus.pcie_gen", {"gen": 4}),
        ("gpus.pcie_width", {"width": 8}),
        ("gpus.bar1_gib", {"bar1": 256}),
        ("gpus", {"gen": 4}),
    ],
)
def test_a_figure_that_nobody_has_confirmed_is_told_and_taints_no_node(
    dgx: Dgx, fact: str, changed: dict[str, object]
) -> None:
    dgx.plan(unverified=["nics", fact])
    dgx.gpu(2, **changed)
    _, (drift,) = findings(dgx.machine)
    assert drift.unverified
    assert " (not verified): " in drift.sentence


def test_a_confirmed_figure_beside_others_that_are_not_is_a_drift(dgx: Dgx) -> None:
    dgx.plan(unverified=["gpus.bar1_gib"])
    dgx.gpu(2, gen=4)
    _, (drift,) = findings(dgx.machine)
    assert not drift.unverified


def test_a_link_whose_number_nobody_has_confirmed_stops_no_machine(dgx: Dgx) -> None:
    dgx.plan(unverified=["gpus.nvlinks"])
    dgx.answers["nvidia-smi nvlink --status"] = recorded.nvlinks(18, 18, 18, 16, 18, 18, 18, 18)
    _, (drift,) = findings(dgx.machine)
    assert (drift.unverified, drift.critical) == (True, False)


def test_an_a100_says_nothing_of_its_fabric(dgx: Dgx) -> None:
    dgx.plan(gpus=[{**gpu, "model": "NVIDIA A100"} for gpu in PLAN["gpus"]])
    a100 = {"model": "NVIDIA A100-SXM4-80GB", "fabric": "N/A", "fabric_status": "N/A"}
    gpus = [recorded.gpu(address=f"0000{address.upper()}", **a100) for address in GPUS]
    dgx.answers["nvidia-smi -q -x"] = recorded.query(*gpus)
    assert not [sentence for sentence in dgx.sentences() if sentence.startswith("Fabric")]


def test_an_idle_gpu_may_lower_its_link(dgx: Dgx) -> None:
    dgx.gpu(2, gen=1, state="P8")
    assert dgx.sentences() == []


def test_a_gpu_that_fell_off_the_bus_is_critical(dgx: Dgx) -> None:
    gpus = [recorded.gpu(address=f"0000{address.upper()}") for address in GPUS[:7]]
    dgx.answers["nvidia-smi -q -x"] = recorded.query(*gpus)
    _, (drift,) = findings(dgx.machine)
    assert drift.critical
    assert drift.sentence.startswith("Number of GPUs is 7, expected 8: look for XID 79")


def test_a_driver_that_does_not_answer_is_critical_and_ends_the_questions(dgx: Dgx) -> None:
    def fails() -> str:
        raise FailedCommandError(
            "ended with 9: NVIDIA-SMI has failed because it couldn't communicate"
        )

    dgx.answers = {"nvidia-smi -q -x": fails}
    _, (drift,) = findings(dgx.machine)
    assert drift.critical
    assert "nvidia-smi is ended with 9: NVIDIA-SMI has failed" in drift.sentence


def test_driver_branch_and_kind_of_modules_are_those_of_the_plan(dgx: Dgx) -> None:
    dgx.plan(driver="550")
    branch, kind = dgx.sentences()
    assert branch.startswith("NVIDIA driver is 570.195.03, expected of branch 550: ")
    assert kind.startswith("Kind of the NVIDIA kernel modules is open, expected proprietary: ")


def test_a_driver_of_ones_own_is_known_by_its_whole_version(dgx: Dgx) -> None:
    dgx.plan(driver="570.195.03-open")
    assert dgx.sentences() == []
    dgx.plan(driver="570.195.0-open")
    (version,) = dgx.sentences()
    assert version.startswith("NVIDIA driver is 570.195.03, expected of version 570.195.0: ")


def test_a_link_that_is_down_is_counted(dgx: Dgx) -> None:
    dgx.answers["nvidia-smi nvlink --status"] = recorded.nvlinks(18, 18, 18, 16, 18, 18, 18, 18)
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Number of active NVLinks of GPU 3 is 16, expected 18: look for XID")


def test_gpus_that_reach_each_other_over_pcie_are_told_once(dgx: Dgx) -> None:
    dgx.answers["nvidia-smi topo -m"] = recorded.TOPOLOGY_8_GPUS.replace("NV18", "SYS ")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Path between GPU 0 and GPU 1 (and 55 more) is SYS, expected NV18")


def test_a_gpu_on_the_other_numa_node_is_seen_by_sysfs(dgx: Dgx) -> None:
    dgx.write(f"sys/bus/pci/devices/{GPUS[2]}/numa_node", "1")
    (sentence,) = dgx.sentences()
    assert sentence.startswith(f"NUMA node of {GPU2} is 1, expected 0: pods get CPUs beside the")


def test_a_nic_on_the_other_numa_node_is_seen_by_sysfs(dgx: Dgx) -> None:
    dgx.write("sys/bus/pci/devices/0000:18:00.0/numa_node", "1")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("NUMA node of nic mlx5_0 (0000:18:00.0) is 1, expected 0: compare")


def test_interrupts_on_workload_cpus_are_told_by_device(dgx: Dgx) -> None:
    dgx.write("proc/irq/200/effective_affinity_list", "17")
    (sentence,) = dgx.sentences()
    assert sentence.startswith(
        "Delivery of interrupts of nic mlx5_0 is on CPUs 17 (1 of them), expected on 0-3,112-115: "
    )


def test_a_nic_that_is_gone_is_found(dgx: Dgx) -> None:
    (dgx.root / "sys/class/infiniband/mlx5_6/device").unlink()
    (sentence,) = dgx.sentences()
    assert sentence.startswith("nic mlx5_6 is not on the PCI bus, expected there, on NUMA node 1")


def test_a_nic_of_a_guest_lies_below_its_pci_device(dgx: Dgx) -> None:
    device = dgx.root / "sys/class/infiniband/mlx5_6/device"
    below = dgx.root / "sys/bus/pci/devices/0000:9a:00.0/virtio3"
    below.mkdir()
    device.unlink()
    device.symlink_to(below)
    assert dgx.sentences() == []


def test_drives_are_counted_and_their_interrupts_left_to_the_kernel(dgx: Dgx) -> None:
    dgx.write("proc/irq/210/effective_affinity_list", "77")
    assert dgx.sentences() == []
    (dgx.root / "sys/class/nvme/nvme0/device").unlink()
    (dgx.root / "sys/class/nvme/nvme0").rmdir()
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Number of NVMe drives is 0, expected 1 or more: look")


def test_a_plan_that_places_no_interrupts_judges_none(dgx: Dgx) -> None:
    arguments = [each for each in PLAN["kernel_arguments"] if "irqaffinity" not in each]
    dgx.plan(kernel_arguments=arguments)
    dgx.write("proc/irq/default_smp_affinity", "ffffffff")
    dgx.write("proc/irq/200/effective_affinity_list", "17")
    assert dgx.sentences() == []


def test_new_interrupts_go_to_housekeeping_cpus(dgx: Dgx) -> None:
    dgx.write("proc/irq/default_smp_affinity", "ffffffff")
    (sentence,) = dgx.sentences()
    assert sentence.startswith(f"List of CPUs for new interrupts is 0-31, expected {HOUSEKEEPING}")


def test_a_workstation_card_at_rest_is_read_as_recorded() -> None:
    driver = parse_query(recorded.RTX_4000_SFF_ADA)
    (gpu,) = driver.gpus
    assert (driver.version, gpu.address) == ("570.195.03", "0000:01:00.0")
    assert (gpu.pcie_gen, gpu.pcie_gen_max, gpu.performance_state) == (1, 4, "P8")
    assert (gpu.ecc, gpu.fabric, gpu.uncorrectable_errors) == ("Disabled", ("N/A", "N/A"), 0)
    assert not gpu.remap_pending
    assert not gpu.remap_failed


def test_a_gpu_in_mig_mode_has_no_rows_to_judge() -> None:
    (gpu,) = parse_query(recorded.A100_MIG).gpus
    assert (gpu.model, gpu.bar1_mib, gpu.persistence) == (
        "NVIDIA A100-SXM4-80GB",
        131072,
        "Disabled",
    )
    assert (gpu.remap_pending, gpu.remap_failed) == (False, False)


def test_domains_of_azure_keep_their_last_four_digits() -> None:
    (gpu,) = parse_query(recorded.query(recorded.gpu(address="0000000A:00:00.0"))).gpus
    assert gpu.address == "000a:00:00.0"


def test_links_and_topology_are_read_as_recorded() -> None:
    assert parse_nvlinks(recorded.NVLINK_H100) == {0: 18, 1: 18}
    topology = parse_topology(recorded.TOPOLOGY_8_GPUS)
    assert set(topology.links.values()) == {"NV18"}
    assert len(topology.links) == 56
    assert topology.numa == {gpu: str(gpu // 4) for gpu in range(8)}
    tabs = parse_topology(recorded.TOPOLOGY_TABS)
    assert (tabs.links[0, 1], tabs.numa) == ("PHB", {0: "0", 1: "0"})


def test_the_underlined_header_of_a_real_answer_is_read(dgx: Dgx) -> None:
    tabs = recorded.TOPOLOGY_TABS
    underlined = tabs.replace("GPU0", "\x1b[4mGPU0", 1).replace("GPU NUMA ID", "GPU NUMA ID\x1b[0m")
    assert underlined.count("\x1b") == 2
    assert parse_topology(underlined) == parse_topology(tabs)
    header, *rows = recorded.TOPOLOGY_8_GPUS.replace("NV18", "SYS ").splitlines()
    dgx.answers["nvidia-smi topo -m"] = "\n".join([f"\x1b[4m{header.strip()}\x1b[0m", *rows])
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Path between GPU 0 and GPU 1 (and 55 more) is SYS, expected NV18")


def test_an_answer_that_is_no_document_of_nvidia_smi_is_refused() -> None:
    with pytest.raises(ValueError, match="no XML"):
        parse_query("NVIDIA-SMI has failed")
    with pytest.raises(ValueError, match="<gpu> instead of"):
        parse_query("<gpu/>")
