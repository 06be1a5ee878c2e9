"""Random empty nodes and pods: many NUMA layouts, and requests close to what some of them hold."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from ignition.shapes.node import (
    DISTRIBUTE,
    FULL_CORES,
    POLICIES,
    SCOPES,
    ContainerKind,
    ContainerRequest,
    EmptyNode,
    NumaCell,
)

NUMA_NODES = (1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 4, 4, 4, 4, 4, 8, 9)
KINDS: tuple[ContainerKind, ...] = ("app", "app", "app", "init", "sidecar")


def case(random: Random) -> tuple[EmptyNode, tuple[ContainerRequest, ...]]:
    """A node and a pod that is bound to it."""
    node = _node(random)
    containers = random.choice((1, 1, 1, 1, 2, 2, 3, 4))
    guaranteed = random.random() < 0.9
    pod = [request(random, node, containers, guaranteed=guaranteed) for _ in range(containers)]
    pod[-1] = replace(pod[-1], kind="app")  # a pod has at least one
    return node, tuple(pod)


def _node(random: Random) -> EmptyNode:
    count = random.choice(NUMA_NODES)
    cores, sockets = _cores(random, count)
    gpus = _dealt(random, count, random.choice((0, 1, 2, 4, 4, 8, 8, 12)))
    distances = _distances(random, count)
    cells = tuple(
        NumaCell(
            id=numa,
            cores=tuple(cores[numa]),
            core_sockets=_sockets(numa, len(cores[numa]), sockets, count),
            gpus=gpus[numa],
            distances=distances[numa],
            **_memory(random),
        )
        for numa in range(count)
    )
    options = [name for name in (FULL_CORES, DISTRIBUTE) if random.random() < 0.5]
    return EmptyNode(
        cells=cells,
        sockets=sockets,
        reserved_cpus=_reserved(random, cells, whole=DISTRIBUTE in options),
        cpu_options=frozenset(options),
        memory_manager=random.random() < 0.8,
        policy=random.choice(POLICIES),
        scope=random.choice(SCOPES),
        prefer_closest=random.random() < 0.4,
        max_numa_nodes=random.choice((8, 8, 8, 9, 16)),
    )


def _cores(random: Random, count: int) -> tuple[list[list[frozenset[int]]], int]:
    """The cores of each NUMA node, and how many sockets they are on."""
    threads = random.choice((1, 2, 2, 2, 4))
    hybrid = count <= 2 and random.random() < 0.1
    even = random.randint(1, 8 if count <= 4 else 3)
    sizes = (
        [even] * count if random.random() < 0.7 else [random.randint(1, even) for _ in range(count)]
    )
    if count > 1 and random.random() < 0.05:
        sizes[random.randrange(count)] = 0  # memory without CPUs
    if not any(sizes):
        sizes[0] = 1
    widths = [[random.choice((1, 2)) if hybrid else threads for _ in range(size)] for size in sizes]
    sockets = random.choice([n for n in (1, 2, 4, 8) if count % n == 0 or count == 1])
    return _numbered(random, widths), min(sockets, 2) if count == 1 else sockets


def _numbered(random: Random, widths: list[list[int]]) -> list[list[frozenset[int]]]:
    """CPU numbers: sibling beside sibling, siblings last, NUMA nodes in turn, or any."""
    slots = [
        (numa, core, thread)
        for numa, cores in enumerate(widths)
        for core, width in enumerate(cores)
        for thread in range(width)
    ]
    way = random.choice(("beside", "last", "last", "turn", "any"))
    if way == "last":
        slots.sort(key=lambda slot: (slot[2], slot[0], slot[1]))
    elif way == "turn":
        slots.sort(key=lambda slot: (slot[2], slot[1], slot[0]))
    elif way == "any":
        random.shuffle(slots)
    cores: list[list[set[int]]] = [[set() for _ in one] for one in widths]
    for cpu, (numa, core, _) in enumerate(slots):
        cores[numa][core].add(cpu)
    return [[frozenset(core) for core in one] for one in cores]


def _sockets(numa: int, cores: int, sockets: int, count: int) -> tuple[int, ...]:
    """The socket of each core of a NUMA node."""
    if sockets <= count:
        return (numa * sockets // count,) * cores
    return tuple(core * sockets // cores for core in range(cores))


def _memory(random: Random) -> dict[str, int]:
    reserved = random.randint(1, 64)
    gib, small = random.choice((0, 0, 1, 3)), random.choice((0, 0, 16, 100))
    for_pods = random.choice((2048, 2048, 4096, 8192, random.randint(0, 9000)))
    return {
        "memory_mib": for_pods + reserved + gib * 1024 + small * 2,
        "reserved_memory_mib": reserved,
        "hugepages_1gi": gib,
        "hugepages_2mi": small,
    }


def _dealt(random: Random, count: int, gpus: int) -> list[tuple[int, ...]]:
    """GPUs evenly over the NUMA nodes, or anyhow."""
    even = random.random() < 0.6
    homes = [gpu * count // gpus if even else random.randrange(count) for gpu in range(gpus)]
    return [tuple(gpu for gpu in range(gpus) if homes[gpu] == numa) for numa in range(count)]


def _distances(random: Random, count: int) -> list[tuple[int, ...]]:
    table = [[10] * count for _ in range(count)]
    for one in range(count):
        for other in range(one):
            table[one][other] = table[other][one] = random.choice((11, 12, 20, 21, 32))
    return [tuple(row) for row in table]


def _reserved(random: Random, cells: Sequence[NumaCell], *, whole: bool) -> frozenset[int]:
    """Whole cores of each NUMA node, or of one, or any CPUs.

    With `distribute-cpus-across-numa` cores are never cut: kubelet may then go round for ever.
    """
    cores = [core for cell in cells for core in cell.cores]
    way = random.choice(("each", "each", "one") if whole else ("each", "each", "one", "any"))
    if way == "any":
        cpus = sorted(frozenset[int]().union(*cores))
        return frozenset(random.sample(cpus, random.randint(1, max(1, len(cpus) // 4))))
    if way == "one":
        return random.choice(cores)
    return frozenset[int]().union(*(cell.cores[0] for cell in cells if cell.cores))


def request(
    random: Random, node: EmptyNode, containers: int, *, guaranteed: bool
) -> ContainerRequest:
    """About what some NUMA nodes hold of each resource, shared by the containers of the pod."""
    wide = len(node.cells) > 4 and node.policy != "single-numa-node"

    def near(amounts: list[int], step: int) -> int:
        least = len(amounts) - 1 if wide and random.random() < 0.9 else 1
        chosen = random.sample(amounts, random.randint(least, len(amounts)))
        off = random.choice((-step, 0, 0, 0, step, step * random.randint(-4, 4)))
        return max(0, sum(chosen) // random.choice((1, 1, containers, containers * 2)) + off)

    every = [sum(map(len, cell.cores)) for cell in node.cells]
    free = [len(frozenset[int]().union(*cell.cores) - node.reserved_cpus) for cell in node.cells]
    threads = max(len(core) for cell in node.cells for core in cell.cores)
    cpus: float = max(1, near(random.choice((every, free)), random.choice((1, threads))))
    if random.random() < 0.5:
        cpus = max(threads, cpus // threads * threads)
    if random.random() < 0.08:
        cpus += 0.5
    memory = [cell.allocatable["memory"] for cell in node.cells]
    gpus = [len(cell.gpus) for cell in node.cells]
    pages = [not wide and random.random() < 0.15 for _ in range(2)]
    return ContainerRequest(
        gpus=near(gpus, 1) if random.random() < 0.7 else 0,
        cpus=cpus if guaranteed or random.random() < 0.3 else 0,
        memory_mib=max(1, near(memory, 1)) if guaranteed or random.random() < 0.3 else 0,
        hugepages_1gi=near([cell.hugepages_1gi for cell in node.cells], 1) if pages[0] else 0,
        hugepages_2mi=near([cell.hugepages_2mi for cell in node.cells], 1) if pages[1] else 0,
        kind=random.choice(KINDS),
    )
