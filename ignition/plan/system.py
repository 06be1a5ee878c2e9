"""The parts of the plan beside kernel and kubelet: units, limits and module options of the node."""

from collections.abc import Iterator
from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.plan import interrupts
from ignition.plan.kernel import governor_of, isolates
from ignition.plan.plan_lines import (
    AMAZON_TIME,
    AUTOLOGIN,
    CONTAINERD,
    IRQBALANCE,
    NCCL,
    NVIDIA_PARAMETERS,
    RESERVED_CPUS,
    TIMESYNCD,
    ReasonedLine,
)
from ignition.plan.tuning import Tuning

_AMAZON_TIME = ("169.254.169.123",)
MASKED_UNITS = ("irqbalance.service",)


@dataclass(frozen=True, kw_only=True)
class System:
    """`cpu_affinity` is systemd's CPUAffinity list, None where services may run anywhere.

    `governor` is what the node should have, None where nobody on the node decides it.
    `absent_arguments` are taken off the kernel's command line.
    """

    cpu_affinity: str | None
    places_interrupts: bool
    clears_acs: bool
    unlimited_memlock: bool
    background_io_mib_per_s: int | None
    containerd_config: str
    module_options: tuple[str, ...]
    governor: str | None
    absent_arguments: tuple[str, ...]
    ntp_servers: tuple[str, ...]
    masked_units: tuple[str, ...] = MASKED_UNITS


def system(hardware: Hardware, tuning: Tuning, *, housekeeping: str) -> System:
    """The decisions for a machine."""
    isolated = isolates(hardware, tuning)
    rdma = hardware.efa_interfaces > 0 or any(nic.rdma for nic in hardware.nics)
    peers = hardware.gpu_count > 1 or (bool(hardware.gpus) and rdma)
    return System(
        cpu_affinity=housekeeping if isolated else None,
        places_interrupts=isolated,
        clears_acs=peers and not hardware.virtual and tuning.iommu != "vfio",
        unlimited_memlock=rdma,
        background_io_mib_per_s=tuning.background_io_mib_per_s,
        # what Flatcar's unit reads, and what the NVIDIA runtime makes it read instead
        containerd_config=(
            "/etc/containerd/config-nvidia.toml"
            if hardware.gpus
            else "/usr/share/containerd/config.toml"
        ),
        module_options=tuning.extra_module_options,
        governor=governor_of(hardware),
        ntp_servers=tuning.ntp_servers or (_AMAZON_TIME if hardware.kind == "aws" else ()),
        absent_arguments=("flatcar.autologin",) if hardware.kind == "bare-metal" else (),
    )


def lines(decided: System, tuning: Tuning) -> Iterator[ReasonedLine]:
    """Each decision with its reason."""
    if decided.cpu_affinity is not None:
        yield ReasonedLine(
            text=f"systemd CPUAffinity={decided.cpu_affinity}",
            reason="services stay on the housekeeping CPUs: reservedSystemCPUs does not move them; "
            "containers do not inherit it, because runc resets their affinity",
            source=RESERVED_CPUS,
        )
    if decided.places_interrupts:
        yield interrupts.line(tuning)
    for unit in decided.masked_units:
        yield ReasonedLine(
            text=f"mask {unit}",
            reason="it would move the interrupts that the plan has placed; Flatcar has none, but "
            "an extension could bring it",
            source=IRQBALANCE,
        )
    if decided.clears_acs:
        yield ReasonedLine(
            text="unit fleet-acs.service",
            reason="access control of PCIe bridges sends traffic between GPUs and NICs through the "
            "root complex; cleared before kubelet, as no guest gets devices of this machine",
            source=NCCL,
        )
    if decided.ntp_servers:
        asked = "asked for by tuning.ntp_servers"
        yield ReasonedLine(
            text=f"NTP={' '.join(decided.ntp_servers)}",
            reason=asked
            if tuning.ntp_servers
            else "Amazon's own clock, on the host of the guest, "
            "instead of the public pool that Flatcar asks",
            source=TIMESYNCD if tuning.ntp_servers else AMAZON_TIME,
        )
    for argument in decided.absent_arguments:
        yield ReasonedLine(
            text=f"without {argument}",
            reason="Flatcar's OpenStack image, which Metal3 installs, sets it in the grub.cfg of "
            "its OEM: who reaches the console of the BMC would be logged in, with sudo",
            source=AUTOLOGIN,
        )
    yield from _containerd(decided)
    for option in decided.module_options:
        yield ReasonedLine(
            text=f"options nvidia {option}",
            reason="asked for by tuning.extra_module_options",
            source=NVIDIA_PARAMETERS,
        )


def _containerd(decided: System) -> Iterator[ReasonedLine]:
    if decided.unlimited_memlock:
        yield ReasonedLine(
            text="containerd LimitMEMLOCK=infinity",
            reason="RDMA pins memory; containers have containerd's limits, because CRI sets none, "
            "and Flatcar's unit raises those of files and processes but not this one",
            source=f"{CONTAINERD}/internal/cri/opts/spec_opts.go",
        )
    if decided.background_io_mib_per_s is not None:
        yield ReasonedLine(
            text=f"containerd blockio background {decided.background_io_mib_per_s}MiB/s",
            reason="pods of this class leave the disks to checkpoints; a throttle and no weight, "
            "which does nothing without the scheduler bfq",
            source=f"{CONTAINERD}/docs/man/containerd-config.toml.5.md",
        )
