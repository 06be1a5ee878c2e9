"""CPU sets as the boot check reads them, apart from the code that wrote them."""

from collections.abc import Iterable

from hardware.hardware import Hardware


class ListError(ValueError):
    """Text that the kernel would not read as a CPU list, in words."""


def read(text: str) -> frozenset[int]:
    """The CPUs of a kernel CPU list (`0-3,56`, `0-15:2/4`)."""
    found: set[int] = set()
    for part in text.split(","):
        try:
            span, _, group = part.partition(":")
            first, dash, last = span.partition("-")
            low, high = int(first), int(last) if dash else int(first)
            used, size = map(int, group.split("/")) if group else (1, 1)
        except ValueError:
            raise ListError(f'"{part}" in "{text}" is no CPU and no range of CPUs') from None
        if low > high or not 0 < used <= size:
            raise ListError(f'"{part}" in "{text}" is no range that the kernel takes')
        found |= {cpu for cpu in range(low, high + 1) if (cpu - low) % size < used}
    return frozenset(found)


def write(cpus: Iterable[int]) -> str:
    """CPUs as the shortest list, for messages and reports."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)


def every(hardware: Hardware) -> frozenset[int]:
    """Every CPU of the machine."""
    return frozenset().union(*hardware.cores())


def split_cores(cpus: frozenset[int], hardware: Hardware) -> frozenset[int]:
    """The CPUs outside the set whose SMT sibling is in it."""
    return frozenset().union(*(core - cpus for core in hardware.cores() if core & cpus))
