"""The kernel command line that the machine ends up with, and what the kernel makes of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.boot import cpus, kernel_arguments

_MIB = {"2M": 2, "1G": 1024}
PAGE = {"hugepages-2Mi": 2 * 1024**2, "hugepages-1Gi": 1024**3}
_NAMES = {"2M": "hugepages-2Mi", "1G": "hugepages-1Gi"}
_ISOLATION_FLAGS = {"domain", "managed_irq", "nohz"}


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The parsed command line. `hugepages` has the pages on each NUMA node by resource name."""

    words: tuple[str, ...]
    irq_cpus: frozenset[int] | None
    isolated_cpus: frozenset[int]
    hugepages: Mapping[str, tuple[int, ...]]


def command_line(items: Sequence[str]) -> tuple[str, ...]:
    """Return the words that Flatcar's helper adds; it drops an item that is there already."""
    line = ""
    for item in items:
        words = " ".join(item.split())
        if f" {words} " not in f" {line} ":
            line = f"{line} {words}".strip()
    return tuple(line.split())


def check(items: Sequence[str], hardware: Hardware, problems: list[str]) -> Kernel:
    """Read the command line as the kernel does; what is wrong is added to `problems`."""
    words = command_line(items)
    problems += kernel_arguments.problems(items, words, hardware)
    given = dict(word.partition("=")[::2] for word in words)
    problems += kernel_arguments.together(given, hardware)
    irq = _list("irqaffinity", given.get("irqaffinity"), hardware, problems)
    isolated = _isolated(given.get("isolcpus"), hardware, problems)
    problems += _agreement(irq, isolated, hardware)
    return Kernel(
        words=words,
        irq_cpus=irq,
        isolated_cpus=isolated or frozenset(),
        hugepages=_hugepages(words, hardware, problems),
    )


def _list(
    name: str, text: str | None, hardware: Hardware, problems: list[str]
) -> frozenset[int] | None:
    if text is None:
        return None
    try:
        found = cpus.read(text)
    except cpus.ListError as error:
        problems.append(f"kernelArguments: {name}: {error}; write a list such as 0-3,56-59")
        return None
    missing = found - cpus.every(hardware)
    if missing:
        problems.append(
            f"kernelArguments: {name} names CPUs {cpus.write(missing)}, but {hardware.name} has "
            f"{cpus.write(cpus.every(hardware))}; name those alone"
        )
    alone = cpus.split_cores(found, hardware)
    if alone and not missing:
        problems.append(
            f"kernelArguments: {name} leaves out the SMT siblings {cpus.write(alone)} of its "
            "cores; name whole cores"
        )
    return found


def _isolated(text: str | None, hardware: Hardware, problems: list[str]) -> frozenset[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    flags = [part for part in parts if re.match(r"[a-z_]", part)]
    problems += [
        f'kernelArguments: isolcpus has the unknown flag "{flag}"; remove it'
        for flag in flags
        if flag not in _ISOLATION_FLAGS
    ]
    if "nohz" in flags:
        problems.append(
            "kernelArguments: isolcpus flag nohz does nothing without NO_HZ_FULL; remove it"
        )
    if parts[: len(flags)] != flags:
        problems.append("kernelArguments: isolcpus must have its flags before the CPU list")
    return _list("isolcpus", ",".join(parts[len(flags) :]), hardware, problems)


def _agreement(
    irq: frozenset[int] | None, isolated: frozenset[int] | None, hardware: Hardware
) -> Iterator[str]:
    if isolated is None:
        return
    rest = cpus.every(hardware) - isolated
    if not rest:
        yield "kernelArguments: isolcpus takes every CPU; leave housekeeping CPUs on each NUMA node"
        return
    for node in hardware.numa_nodes:
        if not any(core & rest for core in cpus.cores(node)):
            yield (
                f"kernelArguments: isolcpus takes all of NUMA node {node.id}; leave a housekeeping "
                "core on each"
            )
    if irq is not None and irq & isolated:
        yield (
            f"kernelArguments: CPUs {cpus.write(irq & isolated)} stand in both irqaffinity and "
            "isolcpus; a CPU is housekeeping or workload"
        )


def _hugepages(
    words: Sequence[str], hardware: Hardware, problems: list[str]
) -> Mapping[str, tuple[int, ...]]:
    pages: dict[str, tuple[int, ...]] = {}
    size: str | None = None
    for word in words:
        name, _, value = word.partition("=")
        if name in ("hugepagesz", "default_hugepagesz"):
            size = value if value in _MIB else None
            if size is None:
                problems.append(
                    f'kernelArguments: "{word}" is no page size of {hardware.arch}; allowed are 2M '
                    "and 1G, and the count that follows it is ignored"
                )
        elif name == "hugepages":
            if size is None:
                problems.append(
                    f'kernelArguments: "{word}" follows no hugepagesz; put it after one'
                )
            elif size in pages:
                problems.append(
                    f"kernelArguments: {size} hugepages are given twice; give them once"
                )
            else:
                pages[size] = _counts(value, hardware, problems)
            size = None
    for node, memory in enumerate(hardware.numa_nodes):
        wanted = sum(_MIB[size] * counts[node] for size, counts in pages.items())
        if wanted > memory.memory_gib * 1024:
            problems.append(
                f"kernelArguments: hugepages take {wanted} MiB of NUMA node {node}, which has "
                f"{memory.memory_gib} GiB; reserve fewer"
            )
    return {_NAMES[size]: counts for size, counts in pages.items()}


def _counts(value: str, hardware: Hardware, problems: list[str]) -> tuple[int, ...]:
    nodes = len(hardware.numa_nodes)
    counts = [0] * nodes
    try:
        if ":" not in value:
            total = int(value)
            return tuple(total // nodes + (node < total % nodes) for node in range(nodes))
        for part in value.split(","):
            node, count = map(int, part.split(":"))
            counts[node] = count
            if node < 0 or count < 0:
                raise ValueError
    except ValueError:
        problems.append(
            f'kernelArguments: hugepages "{value}" is no count and no list of node:count; write '
            "such as 0:32,1:32"
        )
    except IndexError:
        problems.append(
            f'kernelArguments: hugepages "{value}" names a NUMA node that {hardware.name} lacks; '
            f"it has 0 to {nodes - 1}; name those alone"
        )
    return tuple(counts)
