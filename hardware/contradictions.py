"""What the schema of a catalogue file cannot see: parts of one entry that disagree."""

from collections.abc import Iterator

from hardware.cpuset import CpusetError, parse_list
from hardware.machine import Hardware, NumaNode


def contradictions(hardware: Hardware) -> Iterator[str]:
    """One sentence for each, with the path of the property; the first is the one to mend first."""
    yield from _numa_nodes(hardware)
    yield from _devices(hardware)
    yield from _gpus(hardware)


def _numa_nodes(hardware: Hardware) -> Iterator[str]:
    seen: set[int] = set()
    for position, node in enumerate(hardware.numa_nodes):
        path = f"$.numa_nodes[{position}]"
        if node.id != position:
            yield f"{path}.id: {node.id}, but NUMA nodes are numbered from 0 in order"
        try:
            sizes, cpus = _threads(node)
        except CpusetError as error:
            yield f"{path}.threads: {error}"
            return
        if sizes != sorted(sizes, reverse=True):
            yield f"{path}.threads: the lists have {sizes} CPUs; the first must be the longest"
        if len(set(cpus)) != len(cpus) or seen & set(cpus):
            yield f"{path}.threads: a CPU stands in two lists; every CPU is one thread of one core"
        seen |= set(cpus)


def _threads(node: NumaNode) -> tuple[list[int], list[int]]:
    lists = [parse_list(thread) for thread in node.threads]
    return [len(cpus) for cpus in lists], [cpu for cpus in lists for cpu in cpus]


def _devices(hardware: Hardware) -> Iterator[str]:
    devices: dict[str, int | None] = {
        **{f"$.gpus[{n}]": gpu.numa_node for n, gpu in enumerate(hardware.gpus)},
        **{f"$.nics[{n}]": nic.numa_node for n, nic in enumerate(hardware.nics)},
        **{f"$.nvme[{n}]": drive.numa_node for n, drive in enumerate(hardware.nvme)},
    }
    for path, numa_node in devices.items():
        if numa_node is not None and numa_node >= len(hardware.numa_nodes):
            yield (
                f"{path}.numa_node: {numa_node}, but the machine has NUMA nodes 0 to "
                f"{len(hardware.numa_nodes) - 1}"
            )


def _gpus(hardware: Hardware) -> Iterator[str]:
    for position, gpu in enumerate(hardware.gpus):
        if gpu.index != position:
            yield (
                f"$.gpus[{position}].index: {gpu.index}, but GPUs are numbered from 0 in order, "
                "as nvidia-smi does"
            )
    if hardware.nvswitch and not hardware.gpus:
        yield "$.nvswitch: true, but the machine has no GPUs for an NVSwitch to join"
    names = [nic.name for nic in hardware.nics]
    for position, name in enumerate(names):
        if name in names[:position]:
            yield f'$.nics[{position}].name: "{name}" is the name of another network card'
