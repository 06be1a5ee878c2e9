"""Judges each kernel argument: the kernel must know it, take its value and act on it.

Names and values follow Documentation/admin-guide/kernel-parameters.txt of Linux 6.12.
"""

import re
from collections.abc import Iterator, Sequence

from hardware.catalogue import Hardware
from hardware.flatcar import kernel
from ignition.boot import arguments_that_stop
from ignition.boot.modprobe import nvidia
from ignition.boot.parsing import names, nearest

_ONCE = (
    "irqaffinity",
    "isolcpus",
    "default_hugepagesz",
    "transparent_hugepage",
    "numa_balancing",
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "pcie_aspm",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "cpufreq.default_governor",
    "threadirqs",
)
_SWITCH = ("enable", "disable")
_VALUES: dict[str, tuple[str, ...]] = {
    "transparent_hugepage": ("always", "madvise", "never"),
    "numa_balancing": _SWITCH,
    "intel_iommu": ("on", "off", "on,sm_on", "sm_on", "on,sm_off"),
    "amd_iommu": ("off", "fullflush", "force_isolation", "force_enable", "pgtbl_v1", "pgtbl_v2"),
    "iommu": ("pt", "nopt", "off", "on", "force", "noforce", "soft"),
    "iommu.passthrough": ("0", "1"),
    "iommu.strict": ("0", "1"),
    "pcie_aspm": ("off", "force"),
    "pcie_aspm.policy": ("default", "performance", "powersave", "powersupersave"),
    "intel_idle.max_cstate": tuple(map(str, range(1, 10))),
    "processor.max_cstate": tuple(map(str, range(10))),
    "cpufreq.default_governor": ("performance", "schedutil"),
    "intel_pstate": ("active", "passive", "disable", "no_hwp", "force"),
    "amd_pstate": ("active", "passive", "disable", "guided"),
    "systemd.unified_cgroup_hierarchy": ("1",),
    "tsc": ("reliable", "nowatchdog", "noirqtime", "unstable"),
    "nmi_watchdog": ("0", "1"),
    "nosmt": ("", "force"),
}
_OTHERS = names("""
    hugepages hugepagesz default_hugepagesz isolcpus irqaffinity console quiet nowatchdog
    mitigations nosoftlockup skew_tick threadirqs init_on_alloc init_on_free memhp_default_state
    audit selinux enforcing rd.shell systemd.log_level net.ifnames panic
    crashkernel swapaccount cgroup_no_v1 rcupdate.rcu_normal_after_boot
    workqueue.cpu_intensive_thresh_us
    pci modprobe.blacklist module_blacklist nvme_core.io_timeout kvm_intel.nested
    vfio-pci.ids idle clocksource preempt sysctl.kernel.panic
""")
_PLACEBO = {
    "pcie_acs_override": "it is a patch outside the kernel tree",
    "pcie_acs": "no kernel has it",
}
_KNOWN = frozenset((*_VALUES, *_OTHERS, *_ONCE))


def problems(items: Sequence[str], words: Sequence[str], hardware: Hardware) -> Iterator[str]:
    """Yield the mistakes in items of `kernelArguments.shouldExist` and in the words of the line."""
    for item in items:
        given = [word.partition("=")[0] for word in item.split()]
        if "hugepages" in given and "hugepagesz" not in given:
            yield (
                f'kernelArguments: "{item}" stands apart from its size, and Flatcar drops an item '
                'that is already there; write "hugepagesz=1G hugepages=…" as one item'
            )
        if items.count(item) > 1:
            yield f'kernelArguments: "{item}" is listed twice; Ignition refuses that, remove one'
    yield from arguments_that_stop.problems(words)
    for word in words:
        yield from _word(word, hardware)
    given = [word.partition("=")[0] for word in words]
    for name in _ONCE:
        if given.count(name) > 1:
            yield f"kernelArguments: {name} is given {given.count(name)} times; give it once"


def _word(word: str, hardware: Hardware) -> Iterator[str]:
    name, _, value = word.partition("=")
    if why := _PLACEBO.get(name) or _not_built(name, hardware):
        yield f'kernelArguments: "{word}" does nothing ({why}); remove it'
    elif name.startswith("nvidia."):
        yield from (
            f"kernelArguments: {problem}" for problem in nvidia(name.partition(".")[2], value)
        )
    elif name in _VALUES and value not in _VALUES[name]:
        yield f'kernelArguments: "{word}" must be one of {", ".join(_VALUES[name])}'
    elif name == "pci":
        yield from _pci(word, value)
    elif name not in _KNOWN and (near := nearest(name.lower(), _KNOWN, cutoff=0.8)):
        yield f'kernelArguments: the kernel knows no "{name}"; write {near}'
    if name in ("intel_iommu", "intel_idle.max_cstate", "intel_pstate"):
        if hardware.cpu_vendor != "intel":
            yield f'kernelArguments: "{word}" does nothing on {hardware.cpu_vendor}; remove it'
    elif name in ("amd_iommu", "amd_pstate") and hardware.cpu_vendor != "amd":
        yield f'kernelArguments: "{word}" does nothing on {hardware.cpu_vendor}; remove it'
    if name in ("intel_iommu", "amd_iommu", "iommu", "pcie_aspm") and hardware.virtual:
        yield f'kernelArguments: "{word}" has no meaning in a guest; remove it'


def _not_built(name: str, hardware: Hardware) -> str | None:
    """Why the kernel of the newest known release ignores an argument."""
    setting = kernel.arguments().get(name)
    return kernel.missing(setting, hardware.arch, kernel.newest()) if setting else None


def _pci(word: str, value: str) -> Iterator[str]:
    for option in value.split(","):
        if option == "noaer":
            yield (f'kernelArguments: "{word}" only hides the errors of PCIe devices; remove noaer')
        if re.fullmatch(r"acs.*|noacs", option):
            yield f'kernelArguments: "{word}" does nothing: pci has no {option}; remove it'


def together(given: dict[str, str], hardware: Hardware) -> Iterator[str]:
    """Yield the arguments that lack the one they need or stand beside one that excludes them."""
    if given.get("intel_iommu", "").startswith("on") and given.get("iommu") == "off":
        yield 'kernelArguments: "intel_iommu=on" and "iommu=off" contradict; keep one'
    if given.get("intel_iommu") == "off" and given.get("iommu") == "pt":
        yield 'kernelArguments: "iommu=pt" does nothing with "intel_iommu=off"; remove one'
    if (
        given.get("iommu") == "pt"
        and "intel_iommu" not in given
        and hardware.cpu_vendor == "intel"
        and not hardware.virtual
    ):
        yield (
            'kernelArguments: "iommu=pt" needs "intel_iommu=on" on Intel, where the IOMMU may be '
            "off by default; add it"
        )
    if given.get("default_hugepagesz", "2M") not in ("2M", "1G"):
        yield "kernelArguments: default_hugepagesz must be 2M or 1G; correct it"
    if "isolcpus" in given and "irqaffinity" not in given:
        yield (
            "kernelArguments: isolcpus stands without irqaffinity, so ordinary interrupts reach "
            "the isolated CPUs; add irqaffinity with the other CPUs"
        )
    if "irqaffinity" in given and "isolcpus" not in given:
        yield (
            "kernelArguments: irqaffinity stands without isolcpus=managed_irq, so the queues of "
            "devices keep interrupts on workload CPUs; add it"
        )
