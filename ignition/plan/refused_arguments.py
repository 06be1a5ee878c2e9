"""Kernel arguments and NVIDIA module options that are refused when asked for, and why.

Blogs repeat them; on a stock Flatcar node they do nothing or do harm, or the plan writes them.
"""

import re
from collections.abc import Iterator, Mapping

from ignition.plan.not_set import NOT_SET
from ignition.plan.plan_lines import (
    AUTOLOGIN,
    FLATCAR_KERNEL,
    KERNEL,
    NVIDIA_PARAMETERS,
    PARAMETERS,
    Reason,
)

_WORD = re.compile(r"[A-Za-z0-9_.-]+(=[^\s\"'\\]+)?", re.ASCII)
_OPTION = re.compile(r"(NVreg_[A-Za-z0-9]+)=[A-Za-z0-9_=;,-]+", re.ASCII)

_NO_DYNTICKS = "the stock Flatcar kernel is built without NO_HZ_FULL and ignores it"
_NO_CALLBACK_CPUS = "the stock Flatcar kernel is built without RCU_NOCB_CPU and ignores it"
_WRONG_CPUS = "the CPU sets of the plan would name CPUs that are not there"
_WRONG_MEMORY = "the memory of the NUMA nodes would not be what the plan reserves from"

ARGUMENTS: Mapping[str, Reason] = {
    "nohz_full": Reason(reason=_NO_DYNTICKS, source=FLATCAR_KERNEL),
    "nohz": Reason(reason="it is on already in the stock Flatcar kernel", source=FLATCAR_KERNEL),
    "rcu_nocbs": Reason(reason=_NO_CALLBACK_CPUS, source=FLATCAR_KERNEL),
    "rcu_nocb_poll": Reason(reason=_NO_CALLBACK_CPUS, source=FLATCAR_KERNEL),
    "pcie_acs_override": Reason(
        reason="it is a patch outside the kernel tree, which the stock kernel ignores; on bare "
        "metal with GPUs a unit clears ACS before kubelet",
        source=PARAMETERS,
    ),
    "pcie_acs": Reason(
        reason="no kernel has it; on bare metal with GPUs a unit clears ACS before kubelet",
        source=PARAMETERS,
    ),
    "idle": Reason(
        reason="it keeps intel_idle from starting; use tuning.power",
        source=f"{KERNEL}/pm/intel_idle.html",
    ),
    **{
        name: Reason(reason=_WRONG_CPUS, source=PARAMETERS)
        for name in ("nosmt", "maxcpus", "nr_cpus", "possible_cpus", "nosmp")
    },
    **{
        name: Reason(reason=_WRONG_MEMORY, source=PARAMETERS)
        for name in ("numa", "mem", "memmap", "movablecore", "kernelcore")
    },
    "flatcar.autologin": Reason(
        reason="it logs in whoever reaches the console; on bare metal the plan takes away the one "
        "that Flatcar's OpenStack image has",
        source=AUTOLOGIN,
    ),
    "crashkernel": NOT_SET["crashkernel"],
    **{
        name: Reason(
            reason="Flatcar sets it for the first boot",
            source="https://www.flatcar.org/docs/latest/deploy/bare-metal/",
        )
        for name in ("flatcar.first_boot", "ignition.config.url", "root", "rootflags", "usr")
    },
}

KNOWN = (
    "audit",
    "init_on_alloc",
    "intel_pstate",
    "intremap",
    "mitigations",
    "module.sig_enforce",
    "module_blacklist",
    "nmi_watchdog",
    "noautogroup",
    "nosoftlockup",
    "nowatchdog",
    "oops",
    "panic",
    "pci",
    "reboot",
    "schedstats",
    "selinux",
    "skew_tick",
    "slab_nomerge",
    "softlockup_panic",
    "threadirqs",
    "tsc",
    "unknown_nmi_panic",
)
"""Of kernel-parameters.txt: arguments that act on Flatcar's kernel and that no plan writes."""

PCI: Mapping[str, Reason] = {
    "noaer": Reason(
        reason="it hides the PCIe errors by which a failing GPU or link is found",
        source=PARAMETERS,
    ),
    "nomsi": Reason(
        reason="it takes away the interrupt vectors whose CPUs the plan sets", source=PARAMETERS
    ),
}
"""Options of `pci=`."""

OWNED: Mapping[str, str] = {
    "irqaffinity": "tuning.housekeeping_cores_per_numa_node",
    "isolcpus": "tuning.isolation (exclusive, which purpose realtime alone may have)",
    "hugepages": "tuning.hugepages_1gi_per_numa_node and hugepages_2mi_per_numa_node",
    "hugepagesz": "tuning.hugepages_1gi_per_numa_node and hugepages_2mi_per_numa_node",
    "default_hugepagesz": "tuning.hugepages_1gi_per_numa_node and hugepages_2mi_per_numa_node",
    "transparent_hugepage": "tuning.transparent_hugepages",
    "numa_balancing": "purpose",
    "intel_iommu": "tuning.iommu",
    "amd_iommu": "tuning.iommu",
    "iommu": "tuning.iommu",
    "iommu.passthrough": "tuning.iommu",
    "iommu.strict": "tuning.iommu",
    "intel_idle.max_cstate": "tuning.power",
    "processor.max_cstate": "tuning.power",
    "cpufreq.default_governor": "the catalogue's key `virtual`",
    "pcie_aspm": "the catalogue's key `pcie_aspm`",
    "pcie_aspm.policy": "the catalogue's key `pcie_aspm`",
}
"""What the plan writes itself, and what decides it."""

OPTIONS: Mapping[str, Reason] = {
    "NVreg_EnablePCIeGen4": Reason(reason="no NVIDIA driver ever had it", source=NVIDIA_PARAMETERS),
    "NVreg_PersistenceMode": Reason(
        reason="no NVIDIA driver ever had it; nvidia-persistenced of the extension runs",
        source=NVIDIA_PARAMETERS,
    ),
    "NVreg_TCEBypassMode": Reason(
        reason="it was for POWER machines and is gone since driver branch 570",
        source=NVIDIA_PARAMETERS,
    ),
    "NVreg_EnablePCIeGen3": Reason(
        reason="it concerns Kepler cards on SandyBridge-E boards alone", source=NVIDIA_PARAMETERS
    ),
}

REAL_OPTIONS = (
    "NVreg_CreateImexChannel0",
    "NVreg_DeviceFileGID",
    "NVreg_DeviceFileMode",
    "NVreg_DeviceFileUID",
    "NVreg_DmaRemapPeerMmio",
    "NVreg_DynamicPowerManagement",
    "NVreg_DynamicPowerManagementVideoMemoryThreshold",
    "NVreg_EnableDbgBreakpoint",
    "NVreg_EnableGpuFirmware",
    "NVreg_EnableGpuFirmwareLogs",
    "NVreg_EnableMSI",
    "NVreg_EnableNonblockingOpen",
    "NVreg_EnablePCIERelaxedOrderingMode",
    "NVreg_EnableResizableBar",
    "NVreg_EnableS0ixPowerManagement",
    "NVreg_EnableStreamMemOPs",
    "NVreg_EnableUserNUMAManagement",
    "NVreg_ExcludedGpus",
    "NVreg_GpuBlacklist",
    "NVreg_GrdmaPciTopoCheckOverride",
    "NVreg_IgnoreMMIOCheck",
    "NVreg_ImexChannelCount",
    "NVreg_InitializeSystemMemoryAllocations",
    "NVreg_KMallocHeapMaxSize",
    "NVreg_MemoryPoolSize",
    "NVreg_ModifyDeviceFiles",
    "NVreg_NvLinkDisable",
    "NVreg_OpenRmEnableUnsupportedGpus",
    "NVreg_PreserveVideoMemoryAllocations",
    "NVreg_RegisterPCIDriver",
    "NVreg_RegistryDwords",
    "NVreg_RegistryDwordsPerDevice",
    "NVreg_ResmanDebugLevel",
    "NVreg_RestrictProfilingToAdminUsers",
    "NVreg_RmLogonRC",
    "NVreg_RmMsg",
    "NVreg_RmNvlinkBandwidth",
    "NVreg_RmNvlinkBandwidthLinkCount",
    "NVreg_S0ixPowerManagementVideoMemoryThreshold",
    "NVreg_TemporaryFilePath",
    "NVreg_UsePageAttributeTable",
    "NVreg_VMallocHeapMaxSize",
)
"""Parameters of the nvidia module of 570.195.03, the newest driver of Flatcar 4593.2.5."""


def wrong_arguments(arguments: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence for each kernel argument that is refused."""
    names: list[str] = []
    for position, argument in enumerate(arguments):
        path = f"tuning.extra_kernel_arguments[{position}]"
        name, _, value = argument.partition("=")
        # the kernel takes - and _ in a name for the same
        name = name.replace("-", "_")
        if not _WORD.fullmatch(argument):
            yield f'{path}: "{argument}" is not one word such as skew_tick=1'
        elif name in names:
            yield f"{path}: {name} is given twice"
        elif (problem := _wrong_argument(name, set(value.split(",")))) is not None:
            yield f"{path}: {argument} is refused: {problem}"
        names.append(name)


def _wrong_argument(name: str, values: set[str]) -> str | None:
    reason = ARGUMENTS.get(name)
    if name == "pci":
        reason = next((PCI[value] for value in sorted(values & PCI.keys())), None)
    elif name == "panic" and values == {"0"}:
        return "a machine that panics would stand until somebody resets it; leave it out"
    elif "nosmt" in values:
        reason = ARGUMENTS["nosmt"]
    if reason is not None:
        return _cited(reason)
    if name in OWNED:
        return f"the plan decides it; use {OWNED[name]}"
    if name.startswith("nvidia"):
        return "it is an option of a module; write it in tuning.extra_module_options"
    if name not in KNOWN:
        return f"it is not known to act on the stock Flatcar kernel; known: {', '.join(KNOWN)}"
    return None


def wrong_options(options: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence for each option of the nvidia module that is refused."""
    names = []
    for position, option in enumerate(options):
        path = f"tuning.extra_module_options[{position}]"
        match = _OPTION.fullmatch(option)
        if match is None:
            yield f'{path}: "{option}" is no option of the nvidia module such as NVreg_EnableMSI=1'
            continue
        name = match[1]
        if name in OPTIONS:
            yield f"{path}: {option} is refused: {_cited(OPTIONS[name])}"
        elif name not in REAL_OPTIONS:
            yield (
                f"{path}: {option} is refused: the nvidia module has no such parameter "
                f"({NVIDIA_PARAMETERS}); it has {', '.join(REAL_OPTIONS)}"
            )
        elif name in names:
            yield f"{path}: {name} is given twice"
        names.append(name)


def why_not(word: str) -> str | None:
    """Return why no plan has this argument, option or setting; None where the tables lack it."""
    name = word.partition("=")[0].removeprefix("nvidia.")
    reason = ARGUMENTS.get(name) or OPTIONS.get(name) or PCI.get(word.removeprefix("pci="))
    reason = reason or NOT_SET.get(name)
    if reason is not None:
        return _cited(reason)
    if name in OWNED:
        return f"{OWNED[name]} decides it"
    option = name.removeprefix("options nvidia ")
    for known, key, source in (
        (name in KNOWN, "extra_kernel_arguments", PARAMETERS),
        (option in REAL_OPTIONS, "extra_module_options", NVIDIA_PARAMETERS),
    ):
        if known:
            return f"tuning.{key} takes it where a pool asks for it ({source})"
    return None


def _cited(reason: Reason) -> str:
    return f"{reason.reason} ({reason.source})"
