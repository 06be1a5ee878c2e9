"""Types of the catalogue: a machine, its parts, and the facts derived from its wiring."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from hardware.cpuset import format_list, parse_list

USD_PER_EUR = 1.16
"""Shows EUR prices in USD: assumed on 2026-10-28, not verified, never good for invoices."""

_GPU_FACTS = ("pcie_gen", "pcie_width", "nvlinks", "bar1_gib")

MachineKind = Literal["bare-metal", "aws", "azure", "hetzner", "hetzner-dedicated"]
Arch = Literal["amd64", "arm64"]


class HardwareError(ValueError):
    """An unknown machine or a wrong catalogue file; one sentence that says what is allowed."""


@dataclass(frozen=True, kw_only=True)
class NumaNode:
    """A NUMA node. `threads` is one CPU list per SMT thread: the n-th CPUs share the n-th core."""

    id: int
    threads: tuple[str, ...]
    memory_gib: int

    @property
    def cpus(self) -> str:
        """Every CPU of the node as a kernel CPU list, SMT threads included."""
        return _listed(self.cores())

    def cores(self) -> tuple[frozenset[int], ...]:
        """The physical cores in ascending order, each as the set of its CPUs."""
        return _cores(self.threads)


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU and the NUMA node that it is attached to; None is a fact without a source.

    `pcie_gen` and `pcie_width` are the link to the host, `nvlinks` the links that are up between
    GPUs, `bar1_gib` the memory that others on the bus can reach (nvidia-smi's BAR1 total).
    """

    index: int
    model: str
    memory_gib: int
    numa_node: int
    pcie_gen: int | None = None
    pcie_width: int | None = None
    nvlinks: int | None = None
    bar1_gib: int | None = None
    pci_device_id: str | None = None  # vendor:device, such as "10de:2335"


@dataclass(frozen=True, kw_only=True)
class Nic:
    """A network card, by its Linux device name (mlx5_0 for RDMA, else eth0)."""

    name: str
    model: str
    numa_node: int
    rdma: bool


@dataclass(frozen=True, kw_only=True)
class Nvme:
    """A local NVMe drive beside the system disk; None is a fact without a source."""

    model: str | None
    size_gib: int
    numa_node: int | None


@dataclass(frozen=True, kw_only=True)
class SystemDrives:
    """The drives that an installer may write the system to; it takes one. None is not known.

    `count` drives are alike: neither model nor size tells one from another, its serial number does.
    """

    count: int
    bus: Literal["nvme", "sata", "sas"] | None
    model: str | None


@dataclass(frozen=True, kw_only=True)
class Price:
    """Prices per hour of the machine, without VAT; `source` says what an amortised one assumes."""

    on_demand_per_hour: float | None
    reserved_per_hour: float | None
    amortised_per_hour: float | None
    currency: Literal["USD", "EUR"]
    source: str
    date: str
    verified: bool
    spot_per_hour: float | None = None


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """A machine of the catalogue. `unverified` names the facts that are not confirmed.

    `system_disk_gib` is the size of the disk that the system is on, `system_drives` the drives of
    a bare-metal machine that it can be on, and None for others.

    `pcie_aspm` is what the vendor asks for, `nccl_all_reduce_busbw_gb_per_s` the bus bandwidth that
    all_reduce_perf reaches on the GPUs of one machine; both None where nobody can be cited.
    `vm_memory_overhead_percent` is what a guest never sees of the memory that its cloud lists.
    """

    # what it is
    name: str
    vendor: str
    kind: MachineKind
    arch: Arch
    cpu_vendor: Literal["intel", "amd", "ampere", "arm"]
    cpu_model: str
    virtual: bool
    # how it is wired
    sockets: int
    numa_nodes: tuple[NumaNode, ...]
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    nvme: tuple[Nvme, ...]
    system_disk_gib: int
    system_drives: SystemDrives | None = None
    nvswitch: bool
    efa_interfaces: int
    vm_memory_overhead_percent: float | None = None
    pcie_aspm: Literal["off", "default"] | None = None
    nccl_all_reduce_busbw_gb_per_s: float | None = None
    # what it costs, and how sure we are
    price: Price
    sources: tuple[str, ...]
    unverified: tuple[str, ...]

    @property
    def verified(self) -> bool:
        """True where every fact of the entry has a source that was read."""
        return not self.unverified

    @property
    def doubts(self) -> tuple[str, ...]:
        """The facts of `unverified`, then those that have no source at all."""
        facts = [
            *(
                f"gpus.{fact}"
                for fact in _GPU_FACTS
                for gpu in self.gpus
                if getattr(gpu, fact) is None
            ),
            *("nvme.numa_node" for drive in self.nvme if drive.numa_node is None),
            *(("pcie_aspm",) if self.pcie_aspm is None and not self.virtual else ()),
        ]
        return (*self.unverified, *(f"{fact} (unknown)" for fact in dict.fromkeys(facts)))

    @property
    def rails(self) -> tuple[str, ...]:
        """The network cards between machines for GPUs, by their RDMA device names."""
        return tuple(nic.name for nic in self.nics if nic.rdma)

    @property
    def cpu_count(self) -> int:
        """Logical CPUs, SMT threads included."""
        return sum(len(core) for core in self.cores())

    @property
    def memory_gib(self) -> int:
        """Memory of all NUMA nodes in GiB."""
        return sum(node.memory_gib for node in self.numa_nodes)

    @property
    def nvme_gib(self) -> int:
        """Local NVMe beside the system disk in GiB, all drives together."""
        return sum(drive.size_gib for drive in self.nvme)

    @property
    def needs_drive_hint(self) -> bool:
        """True where Metal3 must be told the drive of the system.

        Without a hint it takes /dev/sda, a name that no NVMe drive has: baremetal-operator v0.13.2,
        apis/metal3.io/v1alpha1/profile/profile.go, the profile `unknown`.
        """
        return self.system_drives is not None and self.system_drives.bus not in ("sata", "sas")

    @property
    def needs_drive_serial(self) -> bool:
        """True where a hint must be the serial number of the drive, because others are alike."""
        return self.system_drives is not None and self.system_drives.count > 1

    @property
    def gpu_count(self) -> int:
        """Number of GPUs."""
        return len(self.gpus)

    @property
    def threads_per_core(self) -> int:
        """SMT threads of the widest core."""
        return max(len(core) for core in self.cores())

    def cores(self) -> tuple[frozenset[int], ...]:
        """Every physical core as the set of its CPUs, node by node."""
        return tuple(core for node in self.numa_nodes for core in node.cores())

    @property
    def cpus(self) -> str:
        """Every CPU of the machine as a kernel CPU list."""
        return _listed(self.cores())

    @property
    def usd_per_hour(self) -> float | None:
        """The price of an hour in USD, as the budget counts it; None where no price is known.

        Rented machines: the on-demand price, else the reserved one (some types are sold as capacity
        blocks alone). Owned machines: the amortised price. EUR is converted by USD_PER_EUR.
        """
        price = self.price
        amount = price.amortised_per_hour
        if self.kind != "bare-metal":
            amount = price.on_demand_per_hour
            amount = price.reserved_per_hour if amount is None else amount
        return None if amount is None else self._usd(amount)

    def usd_per_hour_as(self, capacity: str | None) -> float | None:
        """Return the price of an hour in USD as `reserved` or `spot` capacity.

        By the nearest price that is known: `usd_per_hour` where that has none of its own.
        """
        special = {"reserved": self.price.reserved_per_hour, "spot": self.price.spot_per_hour}
        amount = special.get(capacity or "")
        return self.usd_per_hour if amount is None else self._usd(amount)

    def _usd(self, amount: float) -> float:
        return round(amount * (USD_PER_EUR if self.price.currency == "EUR" else 1), 4)


@cache
def _cores(threads: tuple[str, ...]) -> tuple[frozenset[int], ...]:
    lists = [sorted(parse_list(thread)) for thread in threads]
    return tuple(
        frozenset(cpus[position] for cpus in lists if position < len(cpus))
        for position in range(len(lists[0]))
    )


@cache
def _listed(cores: tuple[frozenset[int], ...]) -> str:
    return format_list(cpu for core in cores for cpu in core)
