"""A stock kernel and a stock systemd boot what the renderer writes, and say what became of it.

The kernel is Debian's: Flatcar's is newer and configured otherwise, and what a virtual machine
lacks (sleep states, frequencies, GPUs) shows no effect. What is not judged is listed by name.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardware.cpuset import format_list, parse_list
from ignition.plan.numa_plan import NumaPlan
from ignition.write.render import NodeBoot
from tests.support.ignition.faults import decoded
from tests.support.ignition.nodes import every_choice
from tests.support.judges import machines, qemu
from tests.support.judges.debian import debian
from tests.support.judges.machines import CANARY, Booted, words
from tests.support.judges.shell_scripts import configs

SYS = "/sys"
CPU = f"{SYS}/devices/system/cpu"
NODE = f"{SYS}/devices/system/node"
PAGES = {"hugepages_1gi": "hugepages-1048576kB", "hugepages_2mi": "hugepages-2048kB"}
THP = f"{SYS}/kernel/mm/transparent_hugepage/enabled"
# what a kernel writes of an argument that it knows and cannot read or carry out
REFUSED = re.compile(
    r"Malformed early option|isolcpus: |[Uu]nknown (flag|option)|invalid parameter|HugeTLB: .*"
    r"(unsupported|[Ii]nvalid|failed)|nohz_full|Unable to (parse|set)"
)


def name(word: str) -> str:
    return word.partition("=")[0]


def value(word: str) -> str:
    return word.partition("=")[2]


def parameter(word: str) -> str:
    """Where a running kernel shows an argument with a dot in its name."""
    module, _, of = name(word).partition(".")
    return f"{SYS}/module/{module}/parameters/{of}"


def sysctl(of: str) -> str:
    return f"/proc/sys/{of.replace('.', '/')}"


def mask(cpus: str) -> str:
    """CPUs as /proc/irq/default_smp_affinity shows them."""
    return f"{sum(1 << cpu for cpu in parse_list(cpus)):x}"


def pages(plan: NumaPlan) -> dict[str, str | None]:
    """The files with the huge pages of each NUMA node, and what is planned to stand in them."""
    return {
        f"{NODE}/node{node.id}/hugepages/{folder}/nr_hugepages": str(getattr(node, field))
        for node in plan.nodes
        for field, folder in PAGES.items()
    }


def logged(text: str) -> Callable[[Booted, str], tuple[object, object]]:
    """What the kernel logs where it has understood the argument."""
    return lambda machine, _: (any(text in line for line in machine.log), True)


def reserved(machine: Booted, _: str) -> tuple[object, object]:
    wanted = pages(machine.plan)
    return {path: machine.file(path) for path in wanted}, wanted


def isolated(machine: Booted, word: str) -> tuple[object, object]:
    """`managed_irq` alone isolates no CPU from the scheduler; the test of interrupts is for it."""
    return machine.file(f"{CPU}/isolated"), machine.plan.workload if "domain" in word else ""


# by the name of an argument: what the machine shows of its effect, and what the word says
EFFECTS: dict[str, Callable[[Booted, str], tuple[object, object]]] = {
    "hugepages": reserved,
    "hugepagesz": reserved,
    "intel_iommu": logged("DMAR: IOMMU enabled"),
    "iommu": logged("iommu: Default domain type: Passthrough"),
    "irqaffinity": lambda machine, word: (
        machine.file("/proc/irq/default_smp_affinity"),
        mask(value(word)),
    ),
    "isolcpus": isolated,
    "nowatchdog": lambda machine, _: (machine.file(sysctl("kernel.watchdog")), "0"),
    "numa_balancing": lambda machine, _: (machine.file(sysctl("kernel.numa_balancing")), "0"),
    "pcie_aspm": logged("PCIe ASPM is disabled"),
    "transparent_hugepage": lambda machine, word: (
        re.findall(r"\[(\w+)\]", str(machine.file(THP))),
        [value(word)],
    ),
}
# the kernel takes these, which is tested; what they do cannot be seen in a virtual machine
UNSEEN = {
    "audit": "no machine here is booted with it",
    "amd_iommu": "the machine has the IOMMU of Intel",
    "cpufreq.default_governor": "it has no driver of frequencies",
    "intel_idle.max_cstate": "it has no sleep states",
    "mitigations": "its processor has none of the faults that the kernel works around",
    "processor.max_cstate": "it has no sleep states",
    "skew_tick": "nothing shows when a CPU's ticks come",
}
# scripts and what of them is not run here
UNRUN = {
    "/opt/bin/control-plane": "it founds a cluster or joins one",
    "/opt/bin/fabric-ready": "it waits for Fabric Manager",
    "/opt/bin/fleet-rails": "the machine has no RDMA card; test_node_scripts.py has one of files",
}
# files of /proc and /sys beside those of the plan
EVIDENCE = (
    "/proc/sys/kernel/osrelease",
    "/proc/cmdline",
    "/proc/irq/default_smp_affinity",
    f"{CPU}/isolated",
    THP,
    sysctl("kernel.numa_balancing"),
    sysctl("kernel.watchdog"),
    *(f"{NODE}/node{node}/cpulist" for node in range(2)),
    *(f"{CPU}/cpu{cpu}/topology/thread_siblings_list" for cpu in range(8)),
)


def boot(node: NodeBoot, folder: Path) -> Booted:
    qemu.programs()  # before Debian's packages are downloaded for nothing
    system = debian()
    files = [*EVIDENCE, *pages(node.plan), *map(sysctl, node.plan.sysctls)]
    files += [parameter(word) for word in words(node.plan) if "." in name(word)]
    return machines.boot(system, node, folder, files=files)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Booted:
    return boot(machines.shared(), tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def exclusive(tmp_path_factory: pytest.TempPathFactory) -> Booted:
    return boot(machines.exclusive(), tmp_path_factory.mktemp("exclusive"))


@pytest.fixture(params=["shared", "exclusive"])
def machine(request: pytest.FixtureRequest) -> Booted:
    booted: Booted = request.getfixturevalue(request.param)
    return booted


def planned(of: Callable[[NumaPlan], Any]) -> set[str]:
    """Names over every machine of the catalogue with every choice."""
    return {each for _, node in every_choice() for each in of(node.plan)}


def judged(of: Callable[[NumaPlan], Any]) -> set[str]:
    """Names over the machines that boot here."""
    return {each for node in (machines.shared(), machines.exclusive()) for each in of(node.plan)}


def argument_names(plan: NumaPlan) -> set[str]:
    return {name(word) for word in words(plan)}


# What the renderer may write: each name is judged or listed above.


def test_every_kernel_argument_that_a_plan_can_have_is_given_to_the_kernel() -> None:
    assert planned(argument_names) - judged(argument_names) - UNSEEN.keys() == set()


def test_every_kernel_argument_has_an_effect_that_is_judged_or_is_listed_as_unseen() -> None:
    names = planned(argument_names) | judged(argument_names)
    assert names - EFFECTS.keys() - UNSEEN.keys() == set()
    assert EFFECTS.keys() & UNSEEN.keys() == set()


def test_every_sysctl_that_a_machine_can_have_is_given_to_the_kernel() -> None:
    written = {
        line.partition("=")[0].strip()
        for config in configs()
        for file in config["storage"]["files"]
        if file["path"].startswith("/etc/sysctl.d/")
        for line in decoded(file["contents"]["source"]).splitlines()
    }
    assert written - judged(lambda plan: plan.sysctls) == set()


def test_every_script_is_run_or_is_listed() -> None:
    written = {
        file["path"]
        for config in configs()
        for file in config["storage"]["files"]
        if file["path"].startswith("/opt/bin/")
    }
    assert written - RUN.keys() - UNRUN.keys() == set()
    assert written >= RUN.keys()


# What the kernel did with it.


def test_the_kernel_and_systemd_are_debians(
    shared: Booted, record_property: Callable[[str, object], None]
) -> None:
    judges = [
        each for each in debian().packages if re.match(r"(linux-image-\d|systemd_|xfsprogs_)", each)
    ]
    record_property("table", "\n".join(["Debian's judges of boot data", *judges]))
    assert any(
        f"linux-image-{shared.file('/proc/sys/kernel/osrelease')}_" in each for each in judges
    )


def test_the_kernel_names_the_arguments_that_it_does_not_know(machine: Booted) -> None:
    said = [line for line in machine.log if line.startswith("Unknown kernel command line param")]
    (unknown,) = re.findall('"(.*)"', "".join(said))
    assert set(unknown.split()) - set(qemu.OWN_ARGUMENTS) == {CANARY}


def test_the_kernel_can_read_every_argument(machine: Booted) -> None:
    line = str(machine.file("/proc/cmdline"))
    assert all(f" {argument} " in f"{line} " for argument in machine.plan.kernel_arguments)
    said = [each for each in machine.log if REFUSED.search(each) and CANARY not in each]
    assert said == []


def test_arguments_of_modules_are_read_back(machine: Booted) -> None:
    dotted = [word for word in machine.words if "." in name(word)]
    assert {word: machine.file(parameter(word)) for word in dotted} == {
        word: value(word) for word in dotted
    }
    assert dotted


def test_each_argument_does_what_it_says(machine: Booted) -> None:
    shown = {
        word: EFFECTS[name(word)](machine, word) for word in machine.words if name(word) in EFFECTS
    }
    assert {word: found for word, (found, _) in shown.items()} == {
        word: wanted for word, (_, wanted) in shown.items()
    }


def test_the_sysctls_have_the_planned_values(machine: Booted) -> None:
    plan = machine.plan.sysctls
    assert {each: machine.file(sysctl(each)) for each in plan} == dict(plan)


def test_the_machine_is_wired_as_its_catalogue_entry_says(machine: Booted) -> None:
    for node in machine.node.hardware.numa_nodes:
        assert machine.file(f"{NODE}/node{node.id}/cpulist") == node.cpus
        for core in node.cores():
            for cpu in core:
                siblings = machine.file(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")
                assert siblings == format_list(core), "housekeeping and workload share no core"


def test_a_pods_busy_processes_spread_over_its_cpus(shared: Booted) -> None:
    assert shared.report["pod"] == sorted(parse_list(shared.plan.workload))


def test_on_isolated_cpus_all_of_them_stay_on_one(exclusive: Booted) -> None:
    """Why exclusive isolation is not for training."""
    assert len(exclusive.report["pod"]) == 1
    assert set(exclusive.report["pod"]) <= parse_list(exclusive.plan.workload)


# What systemd and the scripts did.

# the unit of each script
RUN = {
    "/opt/bin/fleet-acs": "fleet-acs.service",
    "/opt/bin/fleet-irq": "fleet-irq.service",
    "/opt/bin/kubelet-state": "kubelet-state.service",
    "/opt/bin/scratch-array": "scratch-array.service",
    "/opt/bin/scratch-quota": "scratch-quota.service",
}


def test_systemd_drops_no_unit_and_each_but_the_drivers_check_starts(machine: Booted) -> None:
    units = machine.report["units"]
    assert units["circles"] == []
    # no NVIDIA driver, so the release would not be marked as good
    assert units["failed"] == ["node-healthy.service"]


def test_every_script_ran_to_its_end(machine: Booted) -> None:
    started = machine.report["units"]["started"]
    assert {unit: started.get(unit) for unit in RUN.values()} == dict.fromkeys(RUN.values(), "done")


def test_services_run_on_the_housekeeping_cpus(machine: Booted) -> None:
    assert machine.report["units"]["kubelet_cpus"] == [machine.plan.housekeeping]


def test_interrupts_are_served_by_the_housekeeping_cpus_of_their_numa_node(machine: Booted) -> None:
    """But the queues of NVMe drives, whose vectors the kernel places: any housekeeping CPU."""
    housekeeping = parse_list(machine.plan.housekeeping)
    found = machine.report["interrupts"]
    queues = [each for each in found if re.fullmatch(r"nvme\d+q[1-9]\d*", each["user"])]
    assert len(queues) == 6, "two of each drive"
    for each in found:
        serving = parse_list(each["effective"])
        if each in queues:
            assert serving <= housekeeping, each
        else:
            assert each["allowed"] == machine.plan.irq_cpus[each["numa_node"]], each
            assert serving <= parse_list(each["allowed"]), each
    users = {re.sub(r"\d", "", each["user"]) for each in found}
    assert users >= {"nvmeq", "virtio-config", "virtio-input.", "virtio-output."}


def test_access_control_is_cleared_on_every_bridge(shared: Booted) -> None:
    bridges = shared.report["bridges"]
    assert len(bridges["before"]) == 5
    assert set(bridges["before"].values()) != {"0000"}, "the kernel has switched it on"
    assert bridges["after"] == dict.fromkeys(bridges["before"], "0000")


def test_the_empty_drives_become_one_array_for_scratch(machine: Booted) -> None:
    scratch = machine.report["scratch"]
    assert scratch["mount"].split()[0] == "xfs"
    assert {"noatime", "prjquota"} <= set(scratch["mount"].split()[1].split(","))
    (array,) = re.findall(r"active raid0 (.*)", scratch["drives"])
    assert len(array.split()) == 2, "the third has partitions"


def test_a_new_directory_of_scratch_may_fill_half_of_it(machine: Booted) -> None:
    scratch = machine.report["scratch"]
    assert scratch["a third"] == ""
    assert scratch["another third"] == "No space left on device"
    assert scratch["a third beside it"] == "", "it is the quota that ended, not the space"
