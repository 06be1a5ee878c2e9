"""The tuning that a pool may choose; everything else is derived from the machine's wiring."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

Purpose = Literal["training", "inference", "batch", "realtime"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The choices of a pool; `numa_plan.plan` checks them against the machine."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    housekeeping_cores_per_numa_node: int = 2
    """Whole cores of each NUMA node kept for the system, its interrupts and the kubelet."""
    isolation: Literal["shared", "exclusive"] = "shared"
    """`exclusive` takes workload CPUs out of the scheduler's load balancing, so that a program must
    pin each of its threads or they all run on one CPU: for purpose realtime alone."""
    hugepages_1gi_per_numa_node: int = 0
    """1 GiB pages reserved at boot on each NUMA node."""
    hugepages_2mi_per_numa_node: int = 0
    """2 MiB pages reserved at boot on each NUMA node."""
    largest_pod_gpus: int | None = None
    """GPUs of the largest pod, which the Topology Manager's policy must fit. Without it all GPUs of
    the machine for training and batch, those of one NUMA node for inference and realtime."""
    iommu: Literal["passthrough", "vfio", "off"] = "passthrough"
    """Of bare metal: `vfio` also keeps PCIe access control on, for devices given to guests."""
    irq: Literal["housekeeping", "numa-local"] = "housekeeping"
    """`numa-local` spreads the interrupts of a device over all CPUs of its NUMA node."""
    power: Literal["performance", "default"] | None = None
    """`performance` keeps the CPUs of bare metal out of sleep states deeper than C1. Without
    it the purpose decides: performance for realtime."""
    transparent_hugepages: Literal["always", "madvise", "never"] | None = None
    """When the kernel makes huge pages by itself. Without it the purpose decides."""
    realtime: bool = False
    """Lets pods use real-time scheduling without a limit on their time: with `exclusive` CPUs and
    purpose realtime alone."""
    hugetlb_shm_group: int | None = None
    """Id of the group that may make SysV shared memory of huge pages."""
    background_io_mib_per_s: int | None = None
    """Gives containerd a block-I/O class `background` that reads and writes so fast at most on each
    disk; pods take it by the annotation blockio.resources.beta.kubernetes.io/pod."""
    ntp_servers: tuple[str, ...] = ()
    """Names or addresses of the time servers. Without them Amazon's own on AWS, else Flatcar's
    public pool."""
    extra_kernel_arguments: tuple[str, ...] = ()
    """Kernel arguments beside those of the plan; what does nothing or does harm is refused."""
    extra_module_options: tuple[str, ...] = ()
    """Options of the nvidia module such as NVreg_RestrictProfilingToAdminUsers=0."""
