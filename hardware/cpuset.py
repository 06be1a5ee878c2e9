"""CPU sets in both spellings of the Linux kernel: lists (`0-3,56-59`) and masks (`f,0000000f`).

Lists follow Documentation/admin-guide/kernel-parameters.rst ("cpu lists"): ranges, and strided
groups `0-15:2/4` (the first 2 of every 4). Masks follow /proc/irq/*/smp_affinity: hexadecimal
groups of 32 CPUs, the highest group first, separated by commas.
"""

import re
from collections.abc import Iterable

_ITEM = re.compile(r"(\d+)(?:-(\d+)(?::(\d+)/(\d+))?)?", re.ASCII)
_GROUP = re.compile(r"[0-9a-fA-F]{1,8}", re.ASCII)
_GROUP_BITS = 32
MAX_CPUS = 8192
"""The largest NR_CPUS of an x86-64 kernel; a CPU beyond it is a slip of the pen."""


class CpusetError(ValueError):
    """A CPU list or mask that the kernel would not read; the message says which part and why."""


def parse_list(text: str) -> frozenset[int]:
    """The CPUs of a kernel CPU list; the empty list is the empty string."""
    cpus: set[int] = set()
    for item in text.strip().split(",") if text.strip() else ():
        cpus.update(_parse_item(item, text))
    return frozenset(cpus)


def _parse_item(item: str, text: str) -> Iterable[int]:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise CpusetError(
            f'CPU list "{text}": "{item}" is no CPU, no range "a-b" and no group "a-b:used/size"'
        )
    first, last, used, size = (None if part is None else int(part) for part in match.groups())
    assert first is not None  # noqa: S101  # the pattern's first group always matches
    last = first if last is None else last
    if last < first:
        raise CpusetError(f'CPU list "{text}": the range "{item}" ends before it begins')
    if last >= MAX_CPUS:
        raise CpusetError(
            f'CPU list "{text}": CPU {last} is beyond the kernel limit {MAX_CPUS - 1}'
        )
    if used is None or size is None:
        return range(first, last + 1)
    if not 0 < used <= size:
        raise CpusetError(
            f'CPU list "{text}": the group "{item}" must use 1 to {size} CPUs of {size}'
        )
    return (cpu for cpu in range(first, last + 1) if (cpu - first) % size < used)


def format_list(cpus: Iterable[int]) -> str:
    """The shortest kernel CPU list without strides, in ascending order."""
    runs: list[tuple[int, int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1] = (runs[-1][0], cpu)
        else:
            runs.append((cpu, cpu))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def parse_mask(text: str) -> frozenset[int]:
    """The CPUs of a kernel mask such as `ff,00000001` (CPU 0 and CPUs 32-39)."""
    value = 0
    for group in text.strip().split(","):
        if not _GROUP.fullmatch(group):
            raise CpusetError(
                f'CPU mask "{text}": "{group}" is not a group of 1 to 8 hexadecimal digits'
            )
        value = value << _GROUP_BITS | int(group, 16)
    return frozenset(cpu for cpu in range(value.bit_length()) if value >> cpu & 1)
