"""The public documents that the lines of a plan cite."""

KERNEL = "https://docs.kernel.org/admin-guide"
PARAMETERS = f"{KERNEL}/kernel-parameters.html"
VM = f"{KERNEL}/sysctl/vm.html"
FLATCAR_KERNEL = (
    "https://github.com/flatcar/scripts/tree/main/sdk_container/src/third_party/coreos-overlay/"
    "sys-kernel/coreos-modules/files"
)
NVIDIA_PARAMETERS = (
    "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/kernel-open/nvidia/nv-reg.h"
)
NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
CONTAINERD = "https://github.com/containerd/containerd/blob/main"
GOVERNOR = "https://www.flatcar.org/docs/latest/os-config/host-config/power-management/"
IRQBALANCE = "https://github.com/Irqbalance/irqbalance"
RESERVED_CPUS = "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/"
