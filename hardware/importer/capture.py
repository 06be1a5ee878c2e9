"""Types of what the parsers read from captured output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardware.machine import HardwareError

MIB_PER_GIB = 1024
KIB_PER_GIB = 1024**2


class CaptureError(HardwareError):
    """Captured output that cannot be read or that contradicts itself; one sentence with its file.

    The line is named where the mistake stands in one.
    """

    def __init__(self, where: str, message: str, *, line: int | None = None) -> None:
        place = where if line is None else f"{where}, line {line}"
        super().__init__(f"{place}: {message}")


@dataclass(frozen=True, kw_only=True)
class Cpu:
    """A logical CPU; `core` is unique within its socket."""

    number: int
    core: int
    socket: int
    numa_node: int


@dataclass(frozen=True, kw_only=True)
class Processors:
    """The CPUs of a machine, as lscpu shows them."""

    architecture: str
    vendor: str
    model: str
    virtual: bool
    cpus: tuple[Cpu, ...]


@dataclass(frozen=True, kw_only=True)
class PciDevice:
    """A PCI function; ids are four hexadecimal digits. None is what the capture does not show.

    `slot` is domain:bus:device.function; `names` are the Linux names of a network card.
    """

    slot: str
    class_id: str
    vendor_id: str
    device_id: str
    name: str | None
    numa_node: int | None
    pcie_gen: int | None = None
    pcie_width: int | None = None
    bar1_gib: int | None = None
    names: tuple[str, ...] = ()
    rdma: bool | None = None

    @property
    def id(self) -> str:
        """vendor:device, as lspci -n writes it."""
        return f"{self.vendor_id}:{self.device_id}"

    @property
    def is_gpu(self) -> bool:
        """An NVIDIA display or 3D controller (class 03)."""
        return self.vendor_id == "10de" and self.class_id.startswith("03")

    @property
    def is_nvswitch(self) -> bool:
        """An NVIDIA bridge of no kind that PCI knows (class 0680)."""
        return self.vendor_id == "10de" and self.class_id == "0680"

    @property
    def is_efa(self) -> bool:
        """An Elastic Fabric Adapter of AWS."""
        return self.vendor_id == "1d0f" and self.device_id.startswith("efa")

    @property
    def is_network(self) -> bool:
        """Ethernet, InfiniBand or another network controller (class 02), but no EFA."""
        return self.class_id.startswith("02") and not self.is_efa

    @property
    def is_nvme(self) -> bool:
        """An NVMe controller (class 0108)."""
        return self.class_id == "0108"


@dataclass(frozen=True, kw_only=True)
class Drive:
    """An NVMe namespace by its block device name (nvme0n1)."""

    name: str
    model: str | None
    size_gib: int
    numa_node: int | None


@dataclass(frozen=True, kw_only=True)
class GpuFacts:
    """One GPU in the output of nvidia-smi --query-gpu."""

    index: int
    model: str
    memory_gib: int
    slot: str
    pcie_gen: int | None
    pcie_width: int | None


@dataclass(frozen=True, kw_only=True)
class GpuRow:
    """A GPU's row of nvidia-smi topo -m: its relations by device name, and its affinity."""

    relations: dict[str, str]
    cpus: frozenset[int] | None
    numa_node: int | None


@dataclass(frozen=True, kw_only=True)
class GpuTopology:
    """The matrix of nvidia-smi topo -m; `nics` are the Linux names in its order."""

    gpus: tuple[GpuRow, ...]
    nics: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Capture:
    """Everything that was read. `where` names the files for messages, by the kind of capture."""

    processors: Processors
    memory_gib: Mapping[int, int]
    devices: Sequence[PciDevice]
    drives: Sequence[Drive] | None  # None: the capture has no sizes
    topology: GpuTopology | None
    gpus: Sequence[GpuFacts] | None
    where: Mapping[str, str]

    @property
    def gpu_devices(self) -> tuple[PciDevice, ...]:
        """The GPUs in the order of nvidia-smi, which is that of their slots."""
        return tuple(device for device in self.devices if device.is_gpu)
