"""What tuning guides set beside the plan's own lines, and why no plan sets it, or where it is set.

`fleet explain NAME` prints it. Kernel arguments and options of the nvidia module that are refused
have a table of their own, in refused_arguments.py.
"""

from collections.abc import Mapping

from ignition.plan.plan_lines import FLATCAR_KERNEL, PARAMETERS, Reason

_KUBELET_TUNABLES = "https://github.com/kubernetes/kubernetes/issues/117846"
_DRAINS = "https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/"
_RAID = "https://www.flatcar.org/docs/latest/os-config/storage/raid/"

NOT_SET: Mapping[str, Reason] = {
    "tsc": Reason(
        reason="the kernel checks the clock of the processor itself, and tsc=reliable switches the "
        "check off that finds a bad one; tuning.extra_kernel_arguments takes tsc=nowatchdog where "
        "latency counts more",
        source=PARAMETERS,
    ),
    "crashkernel": Reason(
        reason="Flatcar has kexec and no kdump: no service loads a second kernel and none saves "
        "the dump, so the memory would be kept for nothing; a panic reboots and its text stays in "
        "the log of the BMC",
        source=FLATCAR_KERNEL,
    ),
    "kernel.panic": Reason(
        reason="kubelet sets it to 10 at each start, and Flatcar's kernel has PANIC_TIMEOUT=60 "
        "before that: a node that panics reboots by itself",
        source=_KUBELET_TUNABLES,
    ),
    "kernel.panic_on_oops": Reason(
        reason="kubelet sets it to 1 at each start, and Flatcar's kernel has PANIC_ON_OOPS",
        source=_KUBELET_TUNABLES,
    ),
    "kernel.hung_task_timeout_secs": Reason(
        reason="the kernel's own 120 s write a task that hangs into the log, which is enough: a "
        "checkpoint to slow storage may hang longer, and must not end the machine",
        source="https://docs.kernel.org/admin-guide/sysctl/kernel.html",
    ),
    "fs.inotify.max_user_watches": Reason(
        reason="since Linux 5.11 the kernel takes it from the memory of the machine, up to the "
        "1048576 that guides ask for",
        source="https://github.com/torvalds/linux/commit/92890123749b",
    ),
    "max-read-request": Reason(
        reason="the firmware of a DGX and the drivers choose it for each link; setpci would write "
        "into registers whose place differs from card to card, and a guest has none",
        source="https://www.kernel.org/doc/htmldocs/kernel-api/API-pcie-set-readrq.html",
    ),
    "relaxed-ordering": Reason(
        reason="mlx5 switches it on where card and link can, and NCCL asks for it by itself; for "
        "the GPU, tuning.extra_module_options takes NVreg_EnablePCIERelaxedOrderingMode=1",
        source="https://github.com/torvalds/linux/commit/17347d5430c4",
    ),
    "gpu-clocks": Reason(
        reason="nvidia-smi --lock-gpu-clocks takes away the boost that training lives on, and the "
        "node check counts a clock other than the default as drift; a job that measures may lock "
        "clocks for its own time",
        source="https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    ),
    "gpu-power-limit": Reason(
        reason="the default is what the board is cooled for; a lower one is the choice of a data "
        "centre, which sets it for all machines in the BMC",
        source="https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    ),
    "gpu-ecc": Reason(
        reason="ECC is on in these GPUs, and the node check taints a node whose rows are to be "
        "remapped within 5 minutes of joining; run workloads/acceptance first where no job may "
        "start before",
        source="https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",
    ),
    "edac": Reason(
        reason="Flatcar's kernel is built without EDAC_I10NM and EDAC_SKX: no corrected memory "
        "error of an Intel Xeon is counted on the node, so read the event log of the BMC; those "
        "that are not corrected end the process or the machine all the same",
        source=FLATCAR_KERNEL,
    ),
    "gdrcopy": Reason(
        reason="it needs the module gdrdrv, which Flatcar has not, and NCCL leaves it off by "
        "itself (NCCL_GDRCOPY_ENABLE=0); who measures a gain builds it into the extension of a "
        "driver of one's own",
        source="https://github.com/NVIDIA/nccl/blob/master/src/init.cc",
    ),
    "NCCL_TOPO_FILE": Reason(
        reason="NCCL reads the PCIe tree of a machine of one's own itself, and on AWS the plugin "
        "aws-ofi-nccl of the image brings the file of each instance type",
        source="https://github.com/aws/aws-ofi-nccl/blob/master/src/platform-aws.cpp",
    ),
    "ptp": Reason(
        reason="Flatcar has no linuxptp; tuning.ntp_servers names time servers of your own, which "
        "is good for about a millisecond, and chrony of the sysext bakery, by a snippet, reads a "
        "card's clock (refclock PHC)",
        source="https://flatcar.github.io/sysext-bakery/",
    ),
    "chrony": Reason(
        reason="systemd-timesyncd asks the servers of tuning.ntp_servers, on AWS Amazon's own; a "
        "realtime pool that needs microseconds adds chrony of the sysext bakery by a snippet",
        source="https://flatcar.github.io/sysext-bakery/",
    ),
    "containerd-root": Reason(
        reason="images stay on the system disk: /scratch is a RAID 0 that jobs may fill, and one "
        "lost drive would take every image and container of the node with it",
        source="https://github.com/containerd/containerd/blob/main/docs/ops.md",
    ),
    "image-pre-pull": Reason(
        reason="images are pulled side by side when jobs ask for them; which of them come next "
        "only the jobs know, and each would take room from the others until it is used",
        source="https://kubernetes.io/docs/concepts/containers/images/",
    ),
    "shutdownGracePeriod": Reason(
        reason="Karpenter and kured drain a node first, by each pod's own grace period; kubelet's "
        "would cut that to one figure for all and leave the pods behind as failed",
        source=_DRAINS,
    ),
    "ssh": Reason(
        reason="no key is on a node; a snippet may write TrustedUserCAKeys and passwd.users for a "
        "way in that is yours, and the console of a bare-metal machine logs nobody in",
        source="https://www.flatcar.org/docs/latest/setup/security/customizing-sshd/",
    ),
    "systemd-sysupdate": Reason(
        reason="it would stage the newest patch release of Kubernetes; nodes stay on the one that "
        "is pinned, and another one comes with other boot data",
        source="https://github.com/flatcar/sysext-bakery/blob/main/docs/kubernetes.md",
    ),
    "mirror": Reason(
        reason="Flatcar can mirror the root file system alone, and a machine whose drive with /usr "
        "fails is down all the same (docs/decisions/0021)",
        source=_RAID,
    ),
}
"""By the name that people look for."""
