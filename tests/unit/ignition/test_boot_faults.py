"""A machine whose boot data is wrong stays out, with a sentence that says what to change."""

import re

import pytest

from hardware.hardware import load
from ignition.boot import boot
from tests.unit.ignition.faults import (
    JOIN,
    PATCH,
    Change,
    added,
    argument,
    changed,
    kubelet,
    of,
    text,
    unit,
    written,
)
from tests.unit.ignition.nodes import TOKEN, node, user_data

DGX = load("dgx-h200")
USER_DATA = user_data(node("dgx-h200"))
LABELS = "/etc/sysconfig/kubelet"
SYSEXT = "/etc/flatcar/enabled-sysext.conf"
AFFINITY = "/etc/systemd/system.conf.d/10-cpu-affinity.conf"
RESERVED = "0-3,56-59,112-115,168-171"
WORKLOAD = "4-55,60-111,116-167,172-223"
OPTIONS = "cpuManagerPolicyOptions"

KERNEL: dict[str, tuple[Change, str]] = {
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

KUBELET: dict[str, tuple[Change, str]] = {
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

SYSTEM: dict[str, tuple[Change, str]] = {
    "the driver is missing": (
        of("files", SYSEXT),
        "has 8 GPUs and no driver; name one in /etc/flatcar/enabled-sysext.conf",
    ),
    "a driver is named that Flatcar has not": (
        text(SYSEXT, "570", "580"),
        "Flatcar has no nvidia-drivers-580-open",
    ),
    "two drivers are named": (
        text(SYSEXT, "\n", "\nnvidia-drivers-550\n"),
        "names 2 NVIDIA drivers; keep one",
    ),
    "an extension is misspelt": (
        text(SYSEXT, "nvidia-drivers", "nvidia-driver"),
        "nvidia-driver-570-open is no extension of Flatcar",
    ),
    "the container runtime is missing": (
        of("links", "/etc/extensions/nvidia-runtime.raw"),
        "containers get none without the NVIDIA runtime",
    ),
    "Fabric Manager is missing": (
        of("links", "/etc/extensions/nvidia-fabricmanager.raw"),
        "NVSwitches and no Fabric Manager: CUDA init fails with error 802",
    ),
    "Fabric Manager is started by nothing": (
        of("units", "multi-user.target"),
        "nvidia-fabricmanager.service is started by nothing",
    ),
    "Fabric Manager is of another branch": (
        text(SYSEXT, "570-open", "550-open"),
        "Fabric Manager 570.211.01 does not fit the driver branch 550",
    ),
    "a link points at nothing": (
        of("files", "/opt/extensions/kubernetes/kubernetes-v1.34.1-x86-64.raw"),
        "kubernetes.raw points at .*, which nothing writes",
    ),
    "a link is named after another extension": (
        of("links", "/etc/extensions/nvidia-runtime.raw", path="/etc/extensions/runtime.raw"),
        "whose extension-release names another extension",
    ),
    "Kubernetes is not linked": (
        of("links", "/etc/extensions/kubernetes.raw"),
        "kubernetes.raw is missing, and with it kubelet and kubeadm",
    ),
    "an image is built for another architecture": (
        of(
            "links",
            "/etc/extensions/nvidia-runtime.raw",
            target="/opt/extensions/nvidia-runtime/nvidia-runtime-v1.18.1-arm64.raw",
        ),
        "is built for arm64, but dgx-h200 is amd64",
    ),
    "containerd gets a configuration that is not read": (
        written("/etc/containerd/config.toml", "version = 2\n"),
        "config.toml is not read",
    ),
    "locksmith is left running": (of("units", "locksmithd.service"), "beside kured.*mask it"),
    "a unit is enabled that nobody brings": (
        added("units", name="tuned.service", enabled=True),
        "tuned.service is enabled, but neither written here nor part of Flatcar",
    ),
    "a unit is enabled and masked": (
        of("units", "locksmithd.service", enabled=True),
        "is enabled and masked",
    ),
    "a unit has nothing that starts it": (
        unit("kubelet-state.service", "[Install]", "[X]"),
        "enabled without an .Install. section",
    ),
    "a drop-in has a name that is not read": (
        added("units", name="x.service", dropins=[{"name": "10-x", "contents": "[Unit]\n"}]),
        "the drop-in 10-x is not read; end its name in .conf",
    ),
    "a script is not executable": (
        of("files", "/opt/bin/kubelet-state", mode=0o644),
        "runs /opt/bin/kubelet-state, which is not executable",
    ),
    "a script is missing": (
        of("files", "/opt/bin/kubelet-state"),
        "runs /opt/bin/kubelet-state, which nothing writes",
    ),
}

JOINING: dict[str, tuple[Change, str]] = {
    "the secret part is missing": (of("files", JOIN), "join.yaml is not written"),
    "the token is for everybody": (of("files", JOIN, mode=0o644), "has the mode 0644"),
    "the token is malformed": (text(JOIN, TOKEN, "abc"), "the bootstrap token must have the form"),
    "the hash of the CA is malformed": (
        text(JOIN, "sha256:", "sha256-"),
        "caCertHashes must hold sha256",
    ),
    "the endpoint has no port": (text(JOIN, ":6443", ""), "apiServerEndpoint must be host:port"),
    "the API version is gone": (text(JOIN, "v1beta4", "v1beta2"), "has the apiVersion .*v1beta2"),
    "it is no join configuration": (
        text(JOIN, "JoinConfiguration", "InitConfiguration"),
        "is no JoinConfiguration",
    ),
    "the patches are not asked for": (
        text(JOIN, '"patches"', '"patch"'),
        "is not read: join.yaml has no patches.directory",
    ),
    "the join is not enabled": (
        of("units", "kubeadm-join.service", enabled=False),
        "joins the node, but is not enabled",
    ),
    "nothing joins": (of("units", "kubeadm-join.service"), "no unit runs kubeadm join"),
    "the join does not wait for the network": (
        unit("kubeadm-join.service", " network-online.target kubelet", " kubelet"),
        "does not wait for network-online.target",
    ),
    "the join is repeated at each boot": (
        unit("kubeadm-join.service", "ConditionPathExists=!", "ConditionPathExists="),
        "joins again at each boot",
    ),
    "kubelet is masked": (
        added("units", name="kubelet.service", mask=True),
        "kubelet.service is masked",
    ),
    "names disagree": (text("/etc/hostname", "node-01", "node-02"), "use one name"),
    "a label is missing": (
        text(LABELS, "fleet.gpu/site=here", "site=here"),
        "the label fleet.gpu/site is missing",
    ),
    "a label names another machine": (
        text(LABELS, "hardware=dgx-h200", "hardware=dgx-h100"),
        "hardware=dgx-h100 stands on a dgx-h200",
    ),
    "a label is not kubelet's to set": (
        text(LABELS, "fleet.gpu/site=here", "fleet.gpu/site=here,node-role.kubernetes.io/gpu="),
        "node-role.kubernetes.io/gpu is not for kubelet to set",
    ),
    "a label has a space": (
        text(LABELS, "fleet.gpu/pool=pool", "fleet.gpu/pool=-pool"),
        "fleet.gpu/pool=.* is malformed",
    ),
    "labels stand in a variable that is not read": (
        text(LABELS, "KUBELET_EXTRA_ARGS", "KUBELET_ARGS"),
        "KUBELET_ARGS is not read",
    ),
}

FAULTS = KERNEL | KUBELET | SYSTEM | JOINING


def test_the_machine_boots_without_the_faults() -> None:
    assert boot(changed(USER_DATA, lambda _: None), DGX).problems == ()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named(fault: str) -> None:
    change, says = FAULTS[fault]
    booted = boot(changed(USER_DATA, change), DGX)
    assert booted.node is None
    assert any(re.search(says, problem) for problem in booted.problems), booted.problems


@pytest.mark.parametrize("fault", FAULTS)
def test_no_message_repeats_the_token(fault: str) -> None:
    change, _ = FAULTS[fault]
    booted = boot(changed(USER_DATA, change), DGX)
    assert not [problem for problem in booted.problems if TOKEN in problem]
