"""The kernel command line: a wrong list, count or argument keeps the machine out."""

import pytest

from tests.support.ignition.faults import Change, argument, assert_named

RESERVED = "0-3,56-59,112-115,168-171"
WORKLOAD = "4-55,60-111,116-167,172-223"

FAULTS: dict[str, tuple[Change, str]] = {
    "a CPU that is not there takes interrupts": (
        argument("irqaffinity", f"irqaffinity={RESERVED},300"),
        "irqaffinity names CPUs 300, but dgx-h200 has 0-223",
    ),
    "an SMT sibling is left out": (
        argument("isolcpus", "isolcpus=managed_irq,4-55,60-111,116-167,172-222"),
        "isolcpus leaves out the SMT siblings 223",
    ),
    "a list is off by one": (
        argument("isolcpus", "isolcpus=managed_irq,5-55,60-111,117-167,172-223"),
        "CPUs 4,116 are neither reserved by kubelet nor isolated",
    ),
    "housekeeping and workload overlap": (
        argument("isolcpus", "isolcpus=managed_irq,3-55,60-111,115-167,172-223"),
        "CPUs 3,115 stand in both irqaffinity and isolcpus",
    ),
    "every CPU is isolated": (
        argument("isolcpus", "isolcpus=managed_irq,0-223"),
        "isolcpus takes every CPU",
    ),
    "a whole NUMA node is isolated": (
        argument("isolcpus", "isolcpus=managed_irq,4-111,116-223"),
        "isolcpus takes all of NUMA node 1",
    ),
    "isolcpus has an unknown flag": (
        argument("isolcpus", f"isolcpus=managed-irq,{WORKLOAD}"),
        'isolcpus has the unknown flag "managed-irq"',
    ),
    "isolcpus has its flag behind the list": (
        argument("isolcpus", f"isolcpus={WORKLOAD},managed_irq"),
        "isolcpus must have its flags before the CPU list",
    ),
    "a list is malformed": (
        argument("irqaffinity", "irqaffinity=0-3;56"),
        '"0-3;56" in "0-3;56" is no CPU',
    ),
    "an argument is given twice": (
        argument("", "irqaffinity=0-3,112-115"),
        "irqaffinity is given 2 times",
    ),
    "hugepages are listed apart from their size": (
        argument("hugepagesz", "hugepages=64"),
        '"hugepages=64" stands apart from its size',
    ),
    "a size of hugepages is given twice": (
        argument("", "hugepagesz=1G hugepages=0:1,1:1"),
        "1G hugepages are given twice",
    ),
    "a page size does not exist": (
        argument("hugepagesz", "hugepagesz=4M hugepages=64"),
        '"hugepagesz=4M" is no page size',
    ),
    "hugepages are beyond the memory": (
        argument("hugepagesz", "hugepagesz=1G hugepages=0:1025,1:1"),
        "hugepages take 1049600 MiB of NUMA node 0",
    ),
    "hugepages leave no ordinary memory": (
        argument("hugepagesz", "hugepagesz=1G hugepages=0:1020,1:1"),
        "leave no ordinary memory on NUMA node 0",
    ),
    "hugepages name a NUMA node that is not there": (
        argument("hugepagesz", "hugepagesz=1G hugepages=0:1,2:1"),
        "names a NUMA node that dgx-h200 lacks",
    ),
    "a count of hugepages is no number": (
        argument("hugepagesz", "hugepagesz=1G hugepages=many"),
        'hugepages "many" is no count',
    ),
    "nohz_full is believed in": (
        argument("", f"nohz_full={WORKLOAD}"),
        "does nothing .the Flatcar kernel is built without NO_HZ_FULL.; remove it",
    ),
    "rcu_nocbs is believed in": (argument("", "rcu_nocbs=4-55"), "without RCU_NOCB_CPU"),
    "isolcpus=nohz is believed in": (
        argument("isolcpus", f"isolcpus=nohz,managed_irq,{WORKLOAD}"),
        "flag nohz does nothing",
    ),
    "the ACS patch is believed in": (
        argument("", "pcie_acs_override=downstream"),
        "does nothing .it is a patch outside the kernel tree.",
    ),
    "an invented driver parameter is passed": (
        argument("", "nvidia.NVreg_EnablePCIeGen4=1"),
        "no NVIDIA driver ever had it",
    ),
    "transparent hugepages have a value of another setting": (
        argument("transparent", "transparent_hugepage=defer"),
        "must be one of always, madvise, never",
    ),
    "automatic balancing is switched off by a number": (
        argument("numa_balancing", "numa_balancing=0"),
        "must be one of enable, disable",
    ),
    "an item is listed twice": (argument("", "iommu=pt"), '"iommu=pt" is listed twice'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    assert_named(*FAULTS[fault])
