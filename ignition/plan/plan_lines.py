"""A line of a machine's configuration with its reason and the public document that it cites."""

from dataclasses import dataclass

KERNEL = "https://docs.kernel.org/admin-guide"
PARAMETERS = f"{KERNEL}/kernel-parameters.html"
VM = f"{KERNEL}/sysctl/vm.html"
FLATCAR_KERNEL = (
    "https://github.com/flatcar/scripts/tree/stable-4593.2.5/sdk_container/src/third_party/coreos-overlay/"
    "sys-kernel/coreos-modules/files"
)
AMAZON_TIME = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/set-time.html"
TIMESYNCD = "https://www.freedesktop.org/software/systemd/man/latest/timesyncd.conf.html"
AUTOLOGIN = (
    "https://github.com/flatcar/scripts/blob/stable-4593.2.5/sdk_container/src/third_party/"
    "coreos-overlay/coreos-base/common-oem-files/files/openstack/grub.cfg.frag"
)
NVIDIA_PARAMETERS = (
    "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/kernel-open/nvidia/nv-reg.h"
)
NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
CONTAINERD = "https://github.com/containerd/containerd/blob/main"
IRQBALANCE = "https://github.com/Irqbalance/irqbalance"
RESERVED_CPUS = "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """The reason for a line, and the public source that says what it does."""

    reason: str
    source: str


@dataclass(frozen=True, kw_only=True)
class ReasonedLine:
    """One line: a kernel argument, a sysctl, a kubelet field, a unit or a limit."""

    text: str
    reason: str
    source: str


@dataclass(frozen=True, kw_only=True)
class KubeletField:
    """A field of KubeletConfiguration with its reason and source."""

    name: str
    value: object
    reason: str
    source: str

    def line(self) -> ReasonedLine:
        """The field as a line of the plan."""
        return ReasonedLine(text=f"kubelet {self.name}", reason=self.reason, source=self.source)
