"""Two small machines as the renderer makes them: one shares its CPUs, one isolates them.

They are DGX of a smaller shape, that of the virtual machine. The memory of their catalogue entry is
not that of the virtual machine: the sysctls of large memory are written from 256 GiB on.
"""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hardware.catalogue import Hardware, NumaNode, load
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import NumaPlan, plan
from ignition.plan.tuning import Tuning
from ignition.write.render import NodeBoot, join_ignition, tuning_ignition
from tests.support.ignition.nodes import join
from tests.support.judges import guest, qemu
from tests.support.judges.debian import Debian
from tests.support.judges.flatcar_image import write
from tests.support.judges.installed import install

CANARY = "fleet_canary=1"
"""An argument that no kernel knows: a kernel that does not name it judges nothing."""

_UNITS = {
    "judge-before.service": "[Unit]\nBefore=fleet-acs.service\n[Service]\nType=oneshot\n"
    "ExecStart=/usr/bin/python3 /usr/lib/judge/guest.py bridges\n",
    "judge.service": "[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\n"
    "ExecStart=/usr/bin/python3 /usr/lib/judge/guest.py\n",
    "judge.target": "[Unit]\nRequires=multi-user.target\nAfter=multi-user.target\n"
    "Wants=judge-before.service judge.service\n",
}
# there is no network, and nothing of these is judged
_MASKED = ("getty.target", "systemd-networkd-wait-online.service")


@dataclass(frozen=True, kw_only=True)
class Booted:
    """A machine that has run: what was planned, and what it said of itself."""

    node: NodeBoot
    report: dict[str, Any]

    @property
    def plan(self) -> NumaPlan:
        """What was planned."""
        return self.node.plan

    @property
    def log(self) -> list[str]:
        """The kernel's log."""
        return list(self.report["log"])

    def file(self, path: str) -> str | None:
        """The text of a file that was asked for; None where the machine had none."""
        found: str | None = self.report["files"][path]
        return found

    @property
    def words(self) -> list[str]:
        """The words of its kernel arguments."""
        return words(self.plan)


def words(planned: NumaPlan) -> list[str]:
    """The words of the kernel arguments: one item of a plan may have two."""
    return " ".join(planned.kernel_arguments).split()


def shared() -> NodeBoot:
    """An Intel machine for training, whose CPUs are isolated from interrupts alone."""
    tuning = Tuning(
        housekeeping_cores_per_numa_node=1,
        hugepages_1gi_per_numa_node=1,
        hugepages_2mi_per_numa_node=32,
        hugetlb_shm_group=1000,
        power="performance",
        extra_kernel_arguments=("skew_tick=1",),
    )
    return _node(replace(_hardware(), pcie_aspm="off"), tuning, "training")


def exclusive() -> NodeBoot:
    """An AMD machine without an IOMMU, whose CPUs are isolated for real-time threads."""
    tuning = Tuning(
        housekeeping_cores_per_numa_node=1,
        isolation="exclusive",
        realtime=True,
        iommu="off",
        power="performance",
        extra_kernel_arguments=("mitigations=off",),
    )
    return _node(replace(_hardware(), cpu_vendor="amd"), tuning, "realtime")


def _hardware() -> Hardware:
    dgx = load("dgx-h200")
    return replace(
        dgx,
        name="two-sockets",
        numa_nodes=tuple(
            NumaNode(id=number, threads=threads, memory_gib=128)
            for number, threads in enumerate(qemu.THREADS)
        ),
        gpus=tuple(replace(dgx.gpus[0], index=number, numa_node=number) for number in range(2)),
        nics=tuple(
            replace(dgx.nics[0], name=f"eth{number}", numa_node=number) for number in range(2)
        ),
        nvme=dgx.nvme[:2],
        nvswitch=False,
    )


def _node(hardware: Hardware, tuning: Tuning, purpose: Any) -> NodeBoot:
    return NodeBoot(
        hardware=hardware,
        plan=plan(hardware, tuning, purpose),
        labels={},
        taints=(),
        kubernetes_version="1.36.3",
        nvidia_driver="570-open",
        nvidia_runtime="v1.18.1",
    )


def boot(debian: Debian, node: NodeBoot, folder: Path, *, files: list[str]) -> Booted:
    """Boot a machine and ask it for `files` beside the rest of its report."""
    root = folder / "root"
    install(debian, root, tuning_ignition(node), join_ignition(join()), gpu=True)
    write(root, "usr/lib/judge/guest.py", Path(guest.__file__).read_text())
    asked = {"files": files, "workload": sorted(parse_list(node.plan.workload))}
    write(root, "etc/judge.json", json.dumps(asked))
    write(root, "etc/passwd", "root:x:0:0:root:/root:/usr/bin/bash\n")
    write(root, "etc/group", "root:x:0:\n")
    for name, text in _UNITS.items():
        write(root, f"etc/systemd/system/{name}", text)
    for name in _MASKED:
        (root / f"etc/systemd/system/{name}").symlink_to("/dev/null")
    try:
        report = qemu.boot(debian, root, folder, arguments=(*node.plan.kernel_arguments, CANARY))
    finally:
        shutil.rmtree(root)
        for large in ("initrd", *qemu.DRIVES):
            (folder / large).unlink(missing_ok=True)
    return Booted(node=node, report=report)
