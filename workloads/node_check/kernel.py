"""Kernel arguments, sysctls, huge page policy, power states of PCIe links, governor and swap."""

from collections.abc import Iterator, Sequence

from workloads.node_check.drift import REBOOT, REINSTALL, Drift
from workloads.node_check.machine import LiveMachine
from workloads.node_check.plan import Plan

THP = "sys/kernel/mm/transparent_hugepage/enabled"
ASPM = "sys/module/pcie_aspm/parameters/policy"
_GOVERNOR_AT_BOOT = (
    "a machine whose /proc/cmdline has no cpufreq.default_governor was booted before the plan set "
    f"one: {REINSTALL}"
)
_REPEATABLE = ("hugepagesz", "hugepages", "console")


def check(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Checks the kernel's settings, those of boot and later ones."""
    yield from _arguments(machine, plan)
    yield from _absent(machine, plan)
    yield from _sysctls(machine, plan)
    yield from _transparent_hugepages(machine, plan)
    yield from _link_power(machine, plan)
    yield from _governor(machine, plan)
    yield from _swap(machine)


def _arguments(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    words = (machine.text("proc/cmdline") or "").split()
    for argument in plan.kernel_arguments:
        wanted = argument.split()
        if not _contains(words, wanted):
            yield _argument(argument, "absent from /proc/cmdline", "there")
            continue
        for word in wanted:
            key, _, _ = word.partition("=")
            others = [each for each in words if each.startswith(f"{key}=") and each != word]
            # which of two values counts differs from argument to argument
            if others and key not in _REPEATABLE:
                yield _argument(argument, f"contradicted by {others[-1]}", "the only one")


def _absent(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    words = (machine.text("proc/cmdline") or "").split()
    for argument in plan.absent_kernel_arguments:
        if any(word.partition("=")[0] == argument for word in words):
            yield _argument(argument, "in /proc/cmdline", "absent")


def _argument(argument: str, seen: str, expected: str) -> Drift:
    return Drift(
        check="kernel-argument",
        what=f"Kernel argument {argument}",
        seen=seen,
        expected=expected,
        remedy=REINSTALL,
    )


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    size = len(wanted)
    return any(words[at : at + size] == wanted for at in range(len(words) - size + 1))


def _sysctls(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    for name, value in plan.sysctls.items():
        seen = machine.text(f"proc/sys/{name.replace('.', '/')}")
        if seen is None or seen.split() != value.split():
            yield Drift(
                check="sysctl",
                what=f"Sysctl {name}",
                seen="not there" if seen is None else " ".join(seen.split()),
                expected=value,
                remedy="find out who changed it and run systemctl restart systemd-sysctl",
            )


def _transparent_hugepages(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    if plan.transparent_hugepages is None:
        return
    chosen = _chosen(machine, THP)
    if chosen != plan.transparent_hugepages:
        yield Drift(
            check="transparent-hugepages",
            what="Policy of transparent huge pages",
            seen=chosen,
            expected=plan.transparent_hugepages,
            remedy=f"find out who wrote to /{THP} and reboot the node",
        )


def _chosen(machine: LiveMachine, path: str) -> str:
    """The word in brackets, by which the kernel marks the one of several that is in force."""
    text = machine.text(path) or ""
    return next((word[1:-1] for word in text.split() if word.startswith("[")), "unknown")


def _link_power(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    """Compares with the catalogue; `off` is a kernel argument, which is compared as such."""
    if plan.pcie_aspm != "default":
        return
    if (chosen := _chosen(machine, ASPM)) != "default":
        doubted = "pcie_aspm" in plan.unverified
        yield Drift(
            check="pcie-aspm",
            what="Policy of the power states of PCIe links",
            seen=chosen,
            expected="default",
            remedy=f"find out who wrote to /{ASPM} or set pcie_aspm.policy, and reboot the node",
            unverified=doubted,
        )


def _governor(machine: LiveMachine, plan: Plan) -> Iterator[Drift]:
    if plan.governor is None:
        return
    folder = "sys/devices/system/cpu"
    seen: dict[str, list[str]] = {}
    for cpu in machine.names(folder):
        governor = machine.text(f"{folder}/{cpu}/cpufreq/scaling_governor")
        if governor is not None and governor != plan.governor:
            seen.setdefault(governor, []).append(cpu)
    for governor, cpus in seen.items():
        yield Drift(
            check="governor",
            what=f"Frequency governor of {len(cpus)} CPUs ({cpus[0]} …)",
            seen=governor,
            expected=plan.governor,
            remedy=f"find out who changed it after the boot; {_GOVERNOR_AT_BOOT}",
        )
    if not seen and machine.text(f"{folder}/cpu0/cpufreq/scaling_governor") is None:
        yield Drift(
            check="governor",
            what="Frequency governor",
            seen="unknown to the kernel",
            expected=plan.governor,
            remedy="let the firmware leave power management to the operating system; "
            f"{_GOVERNOR_AT_BOOT}",
        )


def _swap(machine: LiveMachine) -> Iterator[Drift]:
    _, *used = (machine.text("proc/swaps") or "").splitlines() or [""]
    for line in used:
        yield Drift(
            check="swap",
            what="Swap",
            seen=f"on ({line.split()[0]})",
            expected="off",
            remedy=f"swapoff it; then {REBOOT}",
        )
