"""A DGX H200 as planned, and each way in which its kernel, memory and services can differ."""

import json
import shutil

from tests.support.workloads.dgx_tree import HOUSEKEEPING, KUBELET_CONFIG, PLAN, Dgx


def test_a_machine_as_planned_has_nothing_to_say(dgx: Dgx) -> None:
    assert dgx.sentences() == []


def test_a_lost_kernel_argument_is_one_sentence(dgx: Dgx) -> None:
    words = " ".join(PLAN["kernel_arguments"][:-1])
    dgx.write("proc/cmdline", f"root=LABEL=ROOT {words}")
    (sentence,) = dgx.sentences()
    assert sentence == (
        "Kernel argument iommu=pt is absent from /proc/cmdline, expected there: Ignition writes "
        "this at first boot alone, so drain the node and reinstall it."
    )


def test_an_argument_of_several_words_must_stand_together(dgx: Dgx) -> None:
    words = " ".join(PLAN["kernel_arguments"])
    apart = words.replace("hugepagesz=1G hugepages=0:64,1:64", "hugepagesz=1G")
    dgx.write("proc/cmdline", f"{apart} hugepages=0:64,1:64")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Kernel argument hugepagesz=1G hugepages=0:64,1:64 is absent")


def test_a_second_value_of_an_argument_contradicts_it(dgx: Dgx) -> None:
    words = " ".join(PLAN["kernel_arguments"])
    dgx.write("proc/cmdline", f"{words} irqaffinity=0-223")
    (sentence,) = dgx.sentences()
    assert f"irqaffinity={HOUSEKEEPING} is contradicted by irqaffinity=0-223" in sentence


def test_a_console_that_logs_itself_in_is_found(dgx: Dgx) -> None:
    words = " ".join(PLAN["kernel_arguments"])
    dgx.write("proc/cmdline", f"flatcar.autologin=ttyS0 {words}")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Kernel argument flatcar.autologin is in /proc/cmdline, expected ab")


def test_a_governor_of_an_earlier_boot_is_told_with_what_cures_it(dgx: Dgx) -> None:
    for cpu in range(8):
        dgx.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "powersave")
    (sentence,) = dgx.sentences()
    assert "a machine whose /proc/cmdline has no cpufreq.default_governor" in sentence
    assert "drain the node and reinstall it" in sentence


def test_a_sysctl_that_somebody_changed_is_told_with_both_values(dgx: Dgx) -> None:
    dgx.write("proc/sys/kernel/numa_balancing", "1")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Sysctl kernel.numa_balancing is 1, expected 0: ")


def test_a_sysctl_of_several_numbers_is_compared_by_its_numbers(dgx: Dgx) -> None:
    dgx.plan(sysctls={"net.ipv4.tcp_rmem": "4096 131072 67108864"})
    dgx.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t67108864")
    assert dgx.sentences() == []


def test_another_huge_page_policy_is_found(dgx: Dgx) -> None:
    dgx.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    (sentence,) = dgx.sentences()
    assert "transparent huge pages is madvise, expected always" in sentence


def test_another_policy_of_link_power_is_found(dgx: Dgx) -> None:
    dgx.write("sys/module/pcie_aspm/parameters/policy", "default performance [powersave]")
    (sentence,) = dgx.sentences()
    assert "power states of PCIe links is powersave, expected default: find out who" in sentence
    dgx.plan(unverified=["pcie_aspm"])
    (sentence,) = dgx.sentences()
    assert "expected default (not verified): " in sentence
    dgx.plan(pcie_aspm="off")
    assert dgx.sentences() == [], "that is a kernel argument, which is compared as one"


def test_one_cpu_with_another_governor_is_found(dgx: Dgx) -> None:
    dgx.write("sys/devices/system/cpu/cpu7/cpufreq/scaling_governor", "powersave")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Frequency governor of 1 CPUs (cpu7 …) is powersave, expected perf")


def test_a_machine_without_frequency_scaling_is_asked_for_it_only_by_a_plan(dgx: Dgx) -> None:
    for folder in (dgx.root / "sys/devices/system/cpu").glob("cpu*"):
        shutil.rmtree(folder)
    assert dgx.sentences()[0].startswith("Frequency governor is unknown to the kernel")
    dgx.plan(governor=None)
    assert dgx.sentences() == []


def test_swap_is_off(dgx: Dgx) -> None:
    dgx.write("proc/swaps", "Filename Type Size Used Priority\n/dev/sda3 partition 8388604 0 -2")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Swap is on (/dev/sda3), expected off")


def test_sub_numa_clustering_shows_as_other_nodes_and_lists(dgx: Dgx) -> None:
    dgx.write("sys/devices/system/node/node0/cpulist", "0-27,112-139")
    dgx.write("sys/devices/system/node/node2/cpulist", "28-55,140-167")
    nodes, cpus = dgx.sentences()
    assert nodes.startswith("List of NUMA nodes is 0-2, expected 0-1: set Sub-NUMA Clustering")
    assert cpus.startswith(
        "CPU list of NUMA node 0 is 0-27,112-139, expected 0-55,112-167: compare the firmware's"
    )


def test_smt_that_is_off_shows_in_the_cpus_online(dgx: Dgx) -> None:
    dgx.write("sys/devices/system/cpu/online", "0-111")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("List of CPUs online is 0-111, expected 0-223: compare SMT")


def test_a_memory_module_that_failed_is_found_by_its_node(dgx: Dgx) -> None:
    dgx.write("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       939524096 kB")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Memory of NUMA node 1 is 896 GiB, expected about 1024 GiB")


def test_pages_on_one_node_do_not_stand_in_for_those_of_the_other(dgx: Dgx) -> None:
    for node, pages in ((0, 128), (1, 0)):
        folder = f"sys/devices/system/node/node{node}/hugepages/hugepages-1048576kB"
        dgx.write(f"{folder}/nr_hugepages", str(pages))
    first, second = dgx.sentences()
    assert first.startswith("Number of 1 GiB pages of NUMA node 0 is 128, expected 64")
    assert second.startswith("Number of 1 GiB pages of NUMA node 1 is 0, expected 64")


def test_the_services_of_an_nvswitch_machine_run(dgx: Dgx) -> None:
    (dgx.root / "proc/3/comm").unlink()
    (sentence,) = dgx.sentences()
    assert sentence.startswith("Process nv-fabricmanager is not running, expected running")


def test_irqbalance_must_not_run(dgx: Dgx) -> None:
    dgx.write("proc/4711/comm", "irqbalance")
    (sentence,) = dgx.sentences()
    assert sentence == (
        "Process irqbalance is running, expected absent: systemctl mask --now irqbalance.service: "
        "it moves interrupts away from the plan."
    )


def test_another_kubelet_configuration_is_told_field_by_field(dgx: Dgx) -> None:
    text = KUBELET_CONFIG.replace("Static", "None").replace("memory: 6Gi", "memory: 7Gi")
    dgx.write("var/lib/kubelet/config.yaml", text.replace("failSwapOn: true\n", ""))
    policy, reserved, swap = dgx.sentences()
    assert policy.startswith("Kubelet field memoryManagerPolicy is None, expected Static")
    assert reserved.startswith("Kubelet field reservedMemory is [")
    assert swap.startswith("Kubelet field failSwapOn is not set, expected True")


def test_the_kubelets_list_of_cpus_may_be_written_otherwise(dgx: Dgx) -> None:
    other = "0,1,2,3,56-59,112-115,168-171"
    dgx.write("var/lib/kubelet/config.yaml", KUBELET_CONFIG.replace(HOUSEKEEPING, other))
    assert dgx.sentences() == []


def test_an_amount_of_memory_may_be_written_otherwise(dgx: Dgx) -> None:
    text = KUBELET_CONFIG.replace("memory: 7Gi", "memory: 7168Mi")
    dgx.write("var/lib/kubelet/config.yaml", text)
    assert dgx.sentences() == []
    dgx.write("var/lib/kubelet/config.yaml", text.replace("7168Mi", "7169Mi"))
    assert len(dgx.sentences()) == 1


def test_a_policy_that_is_configured_and_does_not_run_is_found(dgx: Dgx) -> None:
    dgx.write("var/lib/kubelet/cpu_manager_state", json.dumps({"policyName": "none"}))
    (sentence,) = dgx.sentences()
    assert sentence.startswith(
        "Policy in /var/lib/kubelet/cpu_manager_state is none, expected static"
    )


def test_no_container_holds_a_housekeeping_cpu(dgx: Dgx) -> None:
    state = {"policyName": "static", "entries": {"uid": {"main": "2-5,114-117"}}}
    dgx.write("var/lib/kubelet/cpu_manager_state", json.dumps(state))
    (sentence,) = dgx.sentences()
    assert "hold for themselves is 2-3,114-115, expected empty" in sentence


def test_a_missing_or_broken_plan_is_one_sentence(dgx: Dgx) -> None:
    dgx.write("etc/fleet/plan.json", "{}")
    (sentence,) = dgx.sentences()
    assert sentence.startswith("/etc/fleet/plan.json is /etc/fleet/plan.json lacks absent_units, ")
    (dgx.root / "etc/fleet/plan.json").unlink()
    (sentence,) = dgx.sentences()
    assert sentence == (
        "/etc/fleet/plan.json is not there, expected readable: reinstall the machine from a stack "
        "whose pools carry plans."
    )
