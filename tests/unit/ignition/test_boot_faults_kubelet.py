"""kubelet's configuration: what it would refuse, or would mean another machine, is named."""

import pytest

from tests.support.ignition.faults import PATCH, Change, assert_named, kubelet, of, text

AFFINITY = "/etc/systemd/system.conf.d/10-cpu-affinity.conf"
RESERVED = "0-3,56-59,112-115,168-171"
OPTIONS = "cpuManagerPolicyOptions"

FAULTS: dict[str, tuple[Change, str]] = {
    "the CPU policy is spelt with a capital": (
        kubelet(cpuManagerPolicy="Static"),
        'cpuManagerPolicy "Static" is unknown; allowed are none, static',
    ),
    "the memory policy is spelt without one": (
        kubelet(memoryManagerPolicy="static"),
        "allowed are None, Static",
    ),
    "a topology policy is invented": (
        kubelet(topologyManagerPolicy="numa"),
        "allowed are none, best-effort, restricted, single-numa-node",
    ),
    "an option is a boolean": (
        kubelet(**{OPTIONS: {"full-pcpus-only": True}}),
        'full-pcpus-only must be a string; write "true"',
    ),
    "an option has a capital": (
        kubelet(**{OPTIONS: {"full-pcpus-only": "True"}}),
        '"True" must be "true" or "false"',
    ),
    "an option is unknown": (
        kubelet(**{OPTIONS: {"full-pcpu-only": "true"}}),
        "unknown option full-pcpu-only",
    ),
    "an option needs a gate that is off": (
        kubelet(**{OPTIONS: {"align-by-socket": "true"}}),
        "unknown option align-by-socket",
    ),
    "spreading meets single-numa-node": (
        kubelet(topologyManagerPolicy="single-numa-node"),
        "distribute-cpus-across-numa has no use under single-numa-node",
    ),
    "a field is misspelt": (
        kubelet(cpuManagerPolcy="static"),
        "cpuManagerPolcy is no field of KubeletConfiguration; the nearest is cpuManagerPolicy",
    ),
    "reserved CPUs are missing": (
        kubelet(reservedSystemCPUs=None),
        "cpuManagerPolicy static needs CPUs of its own; set reservedSystemCPUs",
    ),
    "reserved CPUs are not on the machine": (
        kubelet(reservedSystemCPUs=f"{RESERVED},224"),
        "reservedSystemCPUs names CPUs 224",
    ),
    "reserved CPUs leave a sibling out": (
        kubelet(reservedSystemCPUs="0-3,56-59,112-115,168-170"),
        "reservedSystemCPUs leaves out the SMT siblings 171",
    ),
    "reserved CPUs differ from irqaffinity": (
        kubelet(reservedSystemCPUs="0-2,56-59,112-114,168-171"),
        "irqaffinity names 0-3,56-59,112-115,168-171; give both the same list",
    ),
    "reserved CPUs are isolated": (
        kubelet(reservedSystemCPUs="0-4,56-59,112-116,168-171"),
        "kubelet reserves CPUs 4,116, which isolcpus isolates",
    ),
    "reserved CPUs meet a reserved cgroup": (
        kubelet(systemReservedCgroup="/system.slice"),
        "cannot stand beside a reserved cgroup",
    ),
    "reserved memory is a MiB short": (
        kubelet(
            reservedMemory=[
                {"numaNode": 0, "limits": {"memory": "6656Mi"}},
                {"numaNode": 1, "limits": {"memory": "6655Mi"}},
            ]
        ),
        "reservedMemory sums to 13311Mi, but .* keep 13312Mi; make them equal",
    ),
    "reserved memory is missing": (kubelet(reservedMemory=None), "reservedMemory sums to 0Mi"),
    "reserved memory names a node twice": (
        kubelet(reservedMemory=[{"numaNode": 0, "limits": {"memory": "6656Mi"}}] * 2),
        "names NUMA node 0 twice",
    ),
    "reserved memory names a node that is not there": (
        kubelet(
            reservedMemory=[
                {"numaNode": 0, "limits": {"memory": "6656Mi"}},
                {"numaNode": 2, "limits": {"memory": "6656Mi"}},
            ]
        ),
        "names NUMA node 2, but dgx-h200 has 0 to 1",
    ),
    "reserved memory is zero on a node": (
        kubelet(
            reservedMemory=[
                {"numaNode": 0, "limits": {"memory": "13Gi"}},
                {"numaNode": 1, "limits": {"memory": "0"}},
            ]
        ),
        "reservedMemory of NUMA node 1 is zero",
    ),
    "eviction is a share of the memory": (
        text(PATCH, '"memory.available":"1024Mi"', '"memory.available":"1%"'),
        "memory.available is a percentage; write a quantity",
    ),
    "eviction forgets the disk": (
        kubelet(evictionHard={"memory.available": "1024Mi"}),
        "evictionHard without nodefs.available switches that threshold off",
    ),
    "a quantity is malformed": (
        kubelet(systemReserved={"memory": "8 GB"}),
        'systemReserved.memory: "8 GB" is no quantity',
    ),
    "a taint has an unknown effect": (
        text(PATCH, "NoSchedule", "NoScheduling"),
        'has the effect "NoScheduling"; allowed are NoSchedule',
    ),
    "the patch is not JSON": (
        text(
            PATCH,
            "{",
            "",
        ),
        "cannot be read",
    ),
    "the patch has a name that kubeadm ignores": (
        of("files", PATCH, path="/etc/kubernetes/patches/kubelet.json"),
        "is ignored by kubeadm; name it kubeletconfiguration",
    ),
    "the patch has no known type": (
        of("files", PATCH, path="/etc/kubernetes/patches/kubeletconfiguration+patch.json"),
        "must be a merge or strategic patch",
    ),
    "systemd keeps its services elsewhere": (
        text(AFFINITY, RESERVED, "0-3,112-115"),
        "CPUAffinity names CPUs 0-3,112-115, kubelet reserves 0-3,56-59",
    ),
    "systemd does not read the drop-in": (
        of("files", AFFINITY, path="/etc/systemd/system.conf.d/10-cpu-affinity"),
        "is not read by systemd; end its name in .conf",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    assert_named(*FAULTS[fault])
