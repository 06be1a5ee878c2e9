"""Finds kernel arguments with which the machine starts no system, another one, or less of itself.

Linux: Documentation/admin-guide/kernel-parameters.txt. systemd: kernel-command-line(7) and
systemd-debug-generator(8), which also take the words of System V. Dracut: dracut.cmdline(7).
Flatcar: its own names of Ignition's arguments in bootengine.
"""

from collections.abc import Iterator, Mapping, Sequence

from ignition.boot import modules
from ignition.boot.parsing import names, shown

_ANOTHER = "starts something else than Flatcar"
_STOPS = "stops the boot before the system is up"
_LESS_MEMORY = "takes memory from the machine that the plan counts on"
_LESS_CPUS = "takes CPUs from the machine that the plan counts on"
_PARTS = "takes away hardware that the machine boots or works with"
_FIRST = "changes what Ignition does, which Flatcar decides at the first boot"
_UNITS = "changes which units start"
_LOGIN = "logs in whoever reaches the console, as a user who may become root"
_CGROUPS = "takes away control groups that kubelet needs"
_REASONS: Mapping[str, str] = {
    _ANOTHER: """
        init rdinit root rootfstype rootflags rootdelay usr usrflags usrhash mount.usr
        mount.usrfstype mount.usrflags noinitrd resume
        """,
    _STOPS: "break kgdbwait boot_delay",
    _LESS_MEMORY: """
        mem memmap highmem movablecore kernelcore memtest hugetlb_cma cma reserve_mem numa
        memory_corruption_check
        """,
    _LESS_CPUS: """
        maxcpus nr_cpus possible_cpus nosmp additional_cpus disable_cpu_apicid
        """,
    _PARTS: """
        acpi noapic nolapic lapic apic nox2apic nomodule initcall_blacklist noefi lockdown
        clearcpuid
        nousb libata.force nopat noxsave noxsaves nofsgsbase disable_ipv6
        """,
    _CGROUPS: "cgroup_disable",
    _UNITS: "fastboot modules_load luks fstab",
    _LOGIN: "flatcar.autologin",
}
_BY_NAME = {name: why for why, listed in _REASONS.items() for name in names(listed)}
# words without a value that systemd and the initramfs take as a target: System V's and their own
_WORDS = names("s S -s single 0 1 2 3 4 5 6 -b rescue emergency")
_BLACKLISTS = names("module_blacklist modprobe.blacklist rd.driver.blacklist")
# what may be set of the families that are refused by default
_HARMLESS = names("""
    systemd.unified_cgroup_hierarchy systemd.log_level systemd.log_target systemd.log_location
    systemd.log_color systemd.log_time systemd.show_status systemd.status_unit_format
    systemd.journald.forward_to_console systemd.journald.max_level_console systemd.dump_core
    systemd.watchdog_sec systemd.watchdog_device systemd.random_seed
    rd.shell rd.debug rd.info rd.timeout rd.retry rd.neednet
""")
_FAMILIES: Mapping[str, str] = {
    "systemd.": _UNITS,
    "rd.": _STOPS,
    "ignition.": _FIRST,
    "flatcar.": _FIRST,
    "coreos.": _FIRST,
    "verity.": _ANOTHER,
    "mount.usr": _ANOTHER,
}
# values with which an argument that is right otherwise takes the machine away
_VALUES: Mapping[str, tuple[str, str]] = {
    "pci": ("off conf1 conf2 nobios nommconf nomsi noacpi", _PARTS),
    "panic": ("0", "leaves a machine that panics standing until somebody resets it"),
    "ip": ("off none", "takes the network away from the initramfs"),
    "efi": ("noruntime off", _PARTS),
}
_NEEDED_BY_FLATCAR = names(
    "root usr rootflags mount.usr mount.usrflags verity.usrhash consoleblank"
)


def problems(words: Sequence[str]) -> Iterator[str]:
    """Yield what each argument would do to the machine."""
    for word in words:
        # the kernel takes quotes off
        name, equals, value = word.replace('"', "").partition("=")
        # to the kernel - and _ are one
        plain = name.replace("-", "_") if name not in _BY_NAME else name
        if plain in _BLACKLISTS:
            yield from _blacklist(word, value)
        elif why := _why(name, plain, equals, value):
            yield f'kernelArguments: "{_short(word)}" {why}; remove it'


def _why(name: str, plain: str, equals: str, value: str) -> str | None:
    if not equals and name in _WORDS:
        return _STOPS
    if name in _HARMLESS or plain in _HARMLESS:
        return None
    if plain in _BY_NAME or name in _BY_NAME:
        return _BY_NAME.get(plain) or _BY_NAME[name]
    for family, why in _FAMILIES.items():
        if name.startswith(family):
            return why
    listed, why = _VALUES.get(plain, ("", ""))
    return why if set(value.split(",")) & names(listed) else None


def _blacklist(word: str, value: str) -> Iterator[str]:
    needed = [module for module in value.split(",") if module and not modules.spare(module)]
    if needed:
        yield (
            f'kernelArguments: "{_short(word)}" keeps {shown(needed[0])} from loading, which the '
            "machine may need; remove it"
        )


def removed(items: Sequence[str]) -> Iterator[str]:
    """Yield the arguments of Flatcar's own command line that must not be taken off it."""
    for item in items:
        for word in item.split():
            if word.partition("=")[0] in _NEEDED_BY_FLATCAR:
                yield (
                    f'kernelArguments.shouldNotExist: "{_short(word)}" is what Flatcar finds its '
                    "system by; leave it"
                )


def _short(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:60]}…"
