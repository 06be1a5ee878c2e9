"""A DGX H200 as its /proc and /sys show it, in a folder, and the plan that it was booted with."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hardware.cpuset import parse_list
from tests.support.cpu_masks import cpu_mask
from tests.support.workloads import nvidia_smi_output as recorded
from workloads.node_check.__main__ import findings
from workloads.node_check.machine import LiveMachine

HOUSEKEEPING = "0-3,56-59,112-115,168-171"
NODE_CPUS = ("0-55,112-167", "56-111,168-223")
KEPT = ("0-3,112-115", "56-59,168-171")
GPUS = [f"0000:{bus}:00.0" for bus in ("1b", "43", "52", "61", "9d", "c3", "d1", "df")]
NICS = {"mlx5_0": "0000:18:00.0", "mlx5_6": "0000:9a:00.0"}
NVME = {"nvme0": "0000:57:00.0"}

PLAN: dict[str, Any] = {
    "hardware": "dgx-h200",
    "purpose": "training",
    "digest": "8c1f02aa",
    "cpus": {
        "online": "0-223",
        "housekeeping": HOUSEKEEPING,
        "workload": "4-55,60-111,116-167,172-223",
    },
    "kernel_arguments": [
        "isolcpus=managed_irq,4-55,60-111,116-167,172-223",
        f"irqaffinity={HOUSEKEEPING}",
        "hugepagesz=1G hugepages=0:64,1:64",
        "iommu=pt",
    ],
    "sysctls": {"kernel.numa_balancing": "0", "net.core.rmem_max": "67108864"},
    "numa_nodes": [
        {"id": at, "cpus": cpus, "memory_gib": 1024, "hugepages_1gi": 64, "hugepages_2mi": 0}
        for at, cpus in enumerate(NODE_CPUS)
    ],
    "transparent_hugepages": "always",
    "irqs": [
        *(
            {"device": "gpu", "name": f"gpu{at}", "numa_node": at // 4, "cpus": KEPT[at // 4]}
            for at in range(8)
        ),
        {"device": "nic", "name": "mlx5_0", "numa_node": 0, "cpus": KEPT[0]},
        {"device": "nic", "name": "mlx5_6", "numa_node": 1, "cpus": KEPT[1]},
        {"device": "nvme", "name": "nvme0", "numa_node": 0, "cpus": KEPT[0]},
    ],
    "gpus": [
        {
            "index": at,
            "model": "NVIDIA H200",
            "memory_gib": 141,
            "numa_node": at // 4,
            "pcie_gen": 5,
            "pcie_width": 16,
            "nvlinks": 18,
            "bar1_gib": 256,
        }
        for at in range(8)
    ],
    "nvswitch": True,
    "driver": "570-open",
    "governor": "performance",
    "kubelet": {
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "memoryManagerPolicy": "Static",
        "reservedMemory": [
            {"numaNode": 0, "limits": {"memory": "7Gi"}},
            {"numaNode": 1, "limits": {"memory": "6Gi"}},
        ],
        "reservedSystemCPUs": HOUSEKEEPING,
        "failSwapOn": True,
    },
    "absent_units": ["irqbalance.service"],
    "absent_kernel_arguments": ["flatcar.autologin"],
    "pcie_aspm": "default",
    "unverified": [],
}

KUBELET_CONFIG = f"""\
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
clusterDNS:
- 10.96.0.10
cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
cpuManagerReconcilePeriod: 0s
failSwapOn: true
kind: KubeletConfiguration
memoryManagerPolicy: Static
memorySwap: {{}}
reservedMemory:
- limits:
    memory: 7Gi
  numaNode: 0
- limits:
    memory: 6Gi
  numaNode: 1
reservedSystemCPUs: {HOUSEKEEPING}
"""


class Dgx:
    """The machine; tests change files and answers, and then ask for the findings."""

    def __init__(self, root: Path, *, bare: bool = False) -> None:
        self.root = root
        self.answers: dict[str, str | Callable[[], str]] = {}
        if not bare:
            self._as_planned()

    def _as_planned(self) -> None:
        gpus = [recorded.gpu(address=f"0000{address.upper()}") for address in GPUS]
        self.answers = {
            "nvidia-smi -q -x": recorded.query(*gpus),
            "nvidia-smi nvlink --status": recorded.nvlinks(*[18] * 8),
            "nvidia-smi topo -m": recorded.TOPOLOGY_8_GPUS,
        }
        self.write("etc/fleet/plan.json", json.dumps(PLAN))
        self._kernel()
        self._nodes()
        self._devices()
        self._services()

    def write(self, path: str, text: str) -> None:
        """A file of the machine."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")

    def plan(self, **changed: object) -> None:
        """Another plan on the same machine."""
        self.write("etc/fleet/plan.json", json.dumps({**PLAN, **changed}))

    def gpu(self, index: int, **changed: object) -> None:
        """One GPU that differs from the others."""
        gpus = [recorded.gpu(address=f"0000{address.upper()}") for address in GPUS]
        gpus[index] = recorded.gpu(address=f"0000{GPUS[index].upper()}", **changed)
        self.answers["nvidia-smi -q -x"] = recorded.query(*gpus)

    @property
    def machine(self) -> LiveMachine:
        def run(command: Sequence[str]) -> str:
            answer = self.answers[" ".join(command)]
            return answer if isinstance(answer, str) else answer()

        return LiveMachine(root=self.root, run=run)

    def sentences(self) -> list[str]:
        """What the check says of the machine."""
        return [drift.sentence for drift in findings(self.machine)[1]]

    def _kernel(self) -> None:
        arguments = " ".join(PLAN["kernel_arguments"])
        self.write("proc/cmdline", f"BOOT_IMAGE=/flatcar/vmlinuz-a rootflags=rw {arguments}")
        for name, value in PLAN["sysctls"].items():
            self.write(f"proc/sys/{name.replace('.', '/')}", value)
        self.write("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority")
        self.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never")
        self.write(
            "sys/module/pcie_aspm/parameters/policy",
            "[default] performance powersave powersupersave",
        )
        for cpu in range(8):
            folder = f"sys/devices/system/cpu/cpu{cpu}/cpufreq"
            self.write(f"{folder}/scaling_governor", "performance")
        self.write("proc/irq/default_smp_affinity", cpu_mask(parse_list(HOUSEKEEPING)))

    def _nodes(self) -> None:
        self.write("sys/devices/system/cpu/online", "0-223")
        for at, cpus in enumerate(NODE_CPUS):
            folder = f"sys/devices/system/node/node{at}"
            self.write(f"{folder}/cpulist", cpus)
            self.write(
                f"{folder}/meminfo",
                f"Node {at} MemTotal:       {1056465132 - at} kB\n"
                f"Node {at} MemFree:        512034112 kB",
            )
            self.write(f"{folder}/hugepages/hugepages-1048576kB/nr_hugepages", "64")
            self.write(f"{folder}/hugepages/hugepages-2048kB/nr_hugepages", "0")
        self.write("sys/devices/system/node/online", "0-1")

    def _devices(self) -> None:
        irq = 100
        for at, address in enumerate(GPUS):
            self._device(address, at // 4, irq + at, vendor="0x10de", kind="0x030200")
        # an NVSwitch has NVIDIA's vendor too
        self._device("0000:05:00.0", 0, 190, vendor="0x10de", kind="0x068000")
        for at, (name, address) in enumerate(NICS.items()):
            self._device(address, at, 200 + at, vendor="0x15b3", kind="0x020700")
            self._link(f"sys/class/infiniband/{name}/device", address)
        for name, address in NVME.items():
            self._device(address, 0, 210, vendor="0x144d", kind="0x010802")
            self._link(f"sys/class/nvme/{name}/device", address)

    def _device(self, address: str, node: int, irq: int, *, vendor: str, kind: str) -> None:
        folder = f"sys/bus/pci/devices/{address}"
        self.write(f"{folder}/vendor", vendor)
        self.write(f"{folder}/class", kind)
        self.write(f"{folder}/numa_node", str(node))
        self.write(f"{folder}/msi_irqs/{irq}", "msix")
        self.write(f"proc/irq/{irq}/effective_affinity_list", str(56 * node + 1))

    def _link(self, path: str, address: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).symlink_to(f"../../../bus/pci/devices/{address}")

    def _services(self) -> None:
        for pid, name in enumerate(("systemd", "kubelet", "nv-fabricmanage", "nvidia-persiste"), 1):
            self.write(f"proc/{pid}/comm", name)
        self.write(
            "proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.195.03  Release Build",
        )
        self.write("var/lib/kubelet/config.yaml", KUBELET_CONFIG)
        state = {"policyName": "static", "defaultCpuSet": "0-223", "entries": {}}
        self.write("var/lib/kubelet/cpu_manager_state", json.dumps(state))
        self.write("var/lib/kubelet/memory_manager_state", json.dumps({"policyName": "Static"}))
