"""GPUs, their links and their health, as the driver sees them."""

from collections.abc import Iterator
from dataclasses import replace

from workloads.node_check import nvidia_smi
from workloads.node_check.drift import REBOOT, Drift
from workloads.node_check.machine import FailedCommandError, LiveMachine
from workloads.node_check.nvidia_smi import SeenGpu
from workloads.node_check.plan import Plan, PlannedGpu

MEMORY_SHARE = 0.95
"""A GPU sold with 141 GB shows 143,771 MiB and one with 80 GB 81,559: ECC and firmware differ."""
_MIB_PER_GIB = 1024
_FACTS = {
    "gpu-model": "gpus.model",
    "gpu-memory": "gpus.memory_gib",
    "gpu-numa-node": "gpus.numa_node",
    "topology": "gpus.numa_node",
    "pcie-generation": "gpus.pcie_gen",
    "pcie-width": "gpus.pcie_width",
    "bar1": "gpus.bar1_gib",
    "nvlink": "gpus.nvlinks",
}
"""The fact of the catalogue that a check compares with."""
_NO_FABRIC = ("N/A", "N/A")
"""What a GPU older than Hopper says of its registration, which its driver does not report."""
_EXTENSIONS = (
    "compare /etc/flatcar/enabled-sysext.conf and /etc/extensions with systemd-sysext status; "
    "reinstall"
)
_DRAIN = "drain the node and reset the GPU (nvidia-smi --gpu-reset) or reboot"


def check(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Checks the driver, each GPU and the links between them, where the plan has GPUs."""
    for drift in _check(machine, plan) if plan.gpus else ():
        fact = _FACTS.get(drift.check)
        doubted = fact is not None and not {fact, "gpus"}.isdisjoint(plan.unverified)
        yield replace(drift, critical=False, unverified=True) if doubted else drift


def _check(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    try:
        driver = nvidia_smi.parse_query(machine.run(["nvidia-smi", "-q", "-x"]))
    except (FailedCommandError, ValueError) as error:
        yield Drift(
            check="nvidia-smi",
            what="nvidia-smi",
            seen=str(error),
            expected=f"able to list {len(plan.gpus)} GPUs",
            remedy="see lsmod, systemd-sysext status and dmesg for the driver; then reboot",
            critical=True,
        )
        return
    yield from _driver(machine, plan, driver.version)
    if len(driver.gpus) != len(plan.gpus):
        yield Drift(
            check="gpu-count",
            what="Number of GPUs",
            seen=str(len(driver.gpus)),
            expected=str(len(plan.gpus)),
            remedy="look for XID 79 in dmesg and for the missing one in lspci; power-cycle the "
            "machine, and have the GPU replaced if it stays away",
            critical=True,
        )
    for wanted, seen in zip(plan.gpus, driver.gpus, strict=False):
        yield from _identity(machine, wanted, seen)
        yield from _pcie(wanted, seen)
        yield from _health(plan, wanted, seen)
    yield from _nvlinks(machine, plan)
    yield from _topology(machine, plan)


def _driver(machine: LiveMachine, plan: Plan, version: str) -> Iterator[Drift]:
    if plan.driver is None:
        return
    wanted, _, flavour = plan.driver.partition("-")
    if not f"{version}.".startswith(f"{wanted}."):
        yield Drift(
            check="driver",
            what="NVIDIA driver",
            seen=version,
            expected=f"of {'version' if '.' in wanted else 'branch'} {wanted}",
            remedy=_EXTENSIONS,
        )
    is_open = "Open Kernel Module" in (machine.text("proc/driver/nvidia/version") or "")
    if (flavour == "open") != is_open:
        kinds = {True: "open", False: "proprietary"}
        yield Drift(
            check="driver",
            what="Kind of the NVIDIA kernel modules",
            seen=kinds[is_open],
            expected=kinds[flavour == "open"],
            remedy=_EXTENSIONS,
        )


def _identity(machine: LiveMachine, wanted: PlannedGpu, seen: SeenGpu) -> Iterator[Drift]:
    name = f"GPU {wanted.index} ({seen.address})"
    if wanted.model.removeprefix("NVIDIA ") not in seen.model:
        yield _drift("gpu-model", f"Model of {name}", seen.model, wanted.model, _catalogue())
    if seen.memory_mib is not None and not (
        MEMORY_SHARE <= seen.memory_mib / _MIB_PER_GIB / wanted.memory_gib <= 2 - MEMORY_SHARE
    ):
        memory = f"{seen.memory_mib / _MIB_PER_GIB:.0f} GiB"
        yield _drift(
            "gpu-memory", f"Memory of {name}", memory, f"{wanted.memory_gib} GiB", _catalogue()
        )
    node = machine.number(f"sys/bus/pci/devices/{seen.address}/numa_node")
    if wanted.numa_node is not None and node not in (None, wanted.numa_node):
        if (node, wanted.numa_node) == (-1, 0):
            return
        yield _drift(
            "gpu-numa-node",
            f"NUMA node of {name}",
            str(node),
            str(wanted.numa_node),
            "pods get CPUs beside the wrong GPUs; compare firmware and slot with the catalogue",
        )


def _pcie(wanted: PlannedGpu, seen: SeenGpu) -> Iterator[Drift]:
    name = f"GPU {wanted.index} ({seen.address})"
    # an idle GPU lowers its link to save power, so only one that works shows what it reached
    generation = seen.pcie_gen if seen.performance_state == "P0" else seen.pcie_gen_max
    reseat = "reseat or replace the GPU, its riser or retimer; a reboot trains the link anew"
    if None not in (wanted.pcie_gen, generation) and generation != wanted.pcie_gen:
        yield _drift(
            "pcie-generation",
            f"PCIe generation of {name}",
            f"{generation:.0f}",
            str(wanted.pcie_gen),
            reseat,
        )
    if None not in (wanted.pcie_width, seen.pcie_width) and seen.pcie_width != wanted.pcie_width:
        yield _drift(
            "pcie-width",
            f"PCIe width of {name}",
            f"x{seen.pcie_width:.0f}",
            f"x{wanted.pcie_width}",
            reseat,
        )
    if wanted.bar1_gib is not None and seen.bar1_mib is not None:
        bar1_gib = seen.bar1_mib / _MIB_PER_GIB
        if round(bar1_gib) != round(wanted.bar1_gib):
            yield _drift(
                "bar1",
                f"BAR1 of {name}",
                f"{bar1_gib:g} GiB",
                f"{wanted.bar1_gib} GiB",
                "turn on Above 4G Decoding and Resizable BAR in the firmware: without them "
                "GPUDirect reaches a part of the memory alone",
            )


def _health(plan: Plan, wanted: PlannedGpu, seen: SeenGpu) -> Iterator[Drift]:
    name = f"GPU {wanted.index} ({seen.address})"
    if seen.persistence != "Enabled":
        remedy = "systemctl restart nvidia-persistenced"
        yield _drift(
            "persistence", f"Persistence mode of {name}", seen.persistence, "Enabled", remedy
        )
    if seen.ecc_pending != seen.ecc or (plan.nvswitch and seen.ecc != "Enabled"):
        found = f"{seen.ecc}, after the next reset {seen.ecc_pending}"
        yield _drift("ecc", f"ECC of {name}", found, "Enabled", f"nvidia-smi -e 1; {_DRAIN}")
    if seen.uncorrectable_errors:
        count = str(seen.uncorrectable_errors)
        yield _drift("ecc-errors", f"Number of uncorrectable errors of {name}", count, "0", _DRAIN)
    if seen.remap_pending:
        yield _drift("row-remap", f"Remapping of rows of {name}", "pending", "done", _DRAIN)
    if seen.remap_failed:
        replace = "drain the node and have the GPU replaced"
        yield _drift(
            "row-remap", f"Remapping of rows of {name}", "failed", "done", replace, critical=True
        )
    for slowdown in seen.slowdowns:
        remedy = "look at temperatures, fans and power supplies (ipmitool sdr)"
        yield _drift("clocks", f"Clock of {name}", f"held down ({slowdown})", "free", remedy)
    chosen, default = seen.clock_limit
    if chosen != default:
        remedy = "nvidia-smi --reset-applications-clocks"
        yield _drift("clocks", f"Application clock of {name}", chosen, default, remedy)
    if plan.nvswitch and seen.fabric not in (("Completed", "Success"), _no_fabric(seen)):
        remedy = "see the log of Fabric Manager, whose version must be the driver's; then " + REBOOT
        found = " / ".join(seen.fabric)
        yield _drift(
            "fabric", f"Fabric of {name}", found, "Completed / Success", remedy, critical=True
        )


def _no_fabric(seen: SeenGpu) -> tuple[str, str] | None:
    """The fabric of a GPU that does not report it: nvmlDeviceGetGpuFabricInfo, Hopper or newer."""
    return _NO_FABRIC if "A100" in seen.model else None


def _nvlinks(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    if not any(gpu.nvlinks for gpu in plan.gpus):
        return
    try:
        active = nvidia_smi.parse_nvlinks(machine.run(["nvidia-smi", "nvlink", "--status"]))
    except FailedCommandError as error:
        yield _drift("nvlink", "nvidia-smi nvlink --status", str(error), "an answer", REBOOT)
        return
    for gpu in plan.gpus:
        seen = active.get(gpu.index, 0)
        if gpu.nvlinks is not None and seen != gpu.nvlinks:
            remedy = f"look for XID 74 in dmesg; {_DRAIN}; replace the board if links stay down"
            what = f"Number of active NVLinks of GPU {gpu.index}"
            yield _drift("nvlink", what, str(seen), str(gpu.nvlinks), remedy, critical=True)


def _topology(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    try:
        topology = nvidia_smi.parse_topology(machine.run(["nvidia-smi", "topo", "-m"]))
    except FailedCommandError as error:
        yield _drift("topology", "nvidia-smi topo -m", str(error), "an answer", REBOOT)
        return
    for gpu in plan.gpus:
        seen = topology.numa.get(gpu.index, "N/A")
        if gpu.numa_node is not None and seen not in ("N/A", str(gpu.numa_node)):
            what = f"NUMA affinity of GPU {gpu.index} in nvidia-smi topo -m"
            remedy = "compare the firmware's NUMA settings with the hardware catalogue"
            yield _drift("topology", what, seen, str(gpu.numa_node), remedy)
    wanted = {gpu.nvlinks for gpu in plan.gpus}
    if plan.nvswitch and len(wanted) == 1 and None not in wanted:
        (links,) = wanted
        astray = {pair: how for pair, how in topology.links.items() if how != f"NV{links}"}
        if astray:
            (one, other), how = next(iter(astray.items()))
            what = f"Path between GPU {one} and GPU {other} (and {len(astray) - 1} more)"
            remedy = "see the log of Fabric Manager; then " + REBOOT
            yield _drift("topology", what, how, f"NV{links}", remedy, critical=True)


def _catalogue() -> str:
    return "correct the hardware catalogue, or have the part replaced"


def _drift(  # noqa: PLR0913  # the six parts of a finding
    check: str, what: str, seen: str, expected: str, remedy: str, *, critical: bool = False
) -> Drift:
    return Drift(
        check=check, what=what, seen=seen, expected=expected, remedy=remedy, critical=critical
    )
