"""Reads and writes CPU sets for the boot check, apart from the code that wrote them."""

from functools import cache, lru_cache

from hardware.catalogue import Hardware, NumaNode


class ListError(ValueError):
    """Text that the kernel would not read as a CPU list, in words."""


@lru_cache(maxsize=512)
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


def read_mask(text: str) -> frozenset[int]:
    """The CPUs of a kernel mask: hexadecimal groups of 32 bits, the highest first."""
    try:
        value = int("".join(group.rjust(8, "0") for group in text.split(",")), 16)
    except ValueError:
        raise ListError(f'"{text}" is no mask of CPUs') from None
    return frozenset(cpu for cpu in range(value.bit_length()) if value >> cpu & 1)


@lru_cache(maxsize=512)
def write(cpus: frozenset[int]) -> str:
    """CPUs as the shortest list, for messages and reports."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)


@cache
def cores(node: NumaNode) -> tuple[frozenset[int], ...]:
    """The cores of a NUMA node, each with its SMT siblings: the n-th CPUs of `threads`."""
    lists = [sorted(read(thread)) for thread in node.threads]
    return tuple(
        frozenset(each[position] for each in lists if position < len(each))
        for position in range(max(map(len, lists)))
    )


@cache
def _every(nodes: tuple[NumaNode, ...]) -> frozenset[int]:
    return frozenset().union(*(core for node in nodes for core in cores(node)))


def every(hardware: Hardware) -> frozenset[int]:
    """Every CPU of the machine."""
    return _every(hardware.numa_nodes)


def split_cores(cpus: frozenset[int], hardware: Hardware) -> frozenset[int]:
    """The CPUs outside the set whose SMT sibling is in it."""
    return frozenset(
        cpu
        for node in hardware.numa_nodes
        for core in cores(node)
        if core & cpus
        for cpu in core - cpus
    )
