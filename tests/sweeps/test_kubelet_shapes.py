"""Our verdicts on pods against those of kubelet's own code: random nodes and the catalogue."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hardware.catalogue import load, names
from hardware.cpuset import format_list
from ignition.plan.numa_plan import PlanError, plan
from ignition.plan.tuning import PURPOSES, Tuning
from ignition.shapes.admission import insufficient
from ignition.shapes.cpu_distribution import EndlessError
from ignition.shapes.kubelet import NO_START, KubeletOutcome, run
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
from ignition.shapes.node_of_plan import from_plan
from toolchain.build import ensure

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


def ask(
    program: Path, cases: Sequence[tuple[EmptyNode, Sequence[ContainerRequest]]]
) -> list[dict[str, Any]]:
    """What kubelet says to each node and pod."""
    lines = "\n".join(
        json.dumps(
            {"node": _node_fields(node), "pod": [_container_fields(request) for request in pod]}
        )
        for node, pod in cases
    )
    done = subprocess.run(
        [program, "batch"], input=lines, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _node_fields(node: EmptyNode) -> dict[str, Any]:
    options = {"max-allowable-numa-nodes": str(node.max_numa_nodes)}
    if node.prefer_closest:
        options["prefer-closest-numa-nodes"] = "true"
    return {
        "sockets": node.sockets,
        "numa_nodes": [
            {**vars(cell), "cores": [sorted(core) for core in cell.cores]} for cell in node.cells
        ],
        "reserved_cpus": format_list(node.reserved_cpus),
        "cpu_options": dict.fromkeys(node.cpu_options, "true"),
        "memory_manager": node.memory_manager,
        "policy": node.policy,
        "scope": node.scope,
        "options": options,
    }


def _container_fields(request: ContainerRequest) -> dict[str, Any]:
    cpus = f"{round(request.cpus * 1000)}m" if request.cpus else ""
    return {**vars(request), "cpus": cpus}


SEED = 20261121
MOST_COMBINATIONS = 3_000  # of hints that kubelet walks through; eight NUMA nodes can make millions

Case = tuple[EmptyNode, Sequence[ContainerRequest]]


@pytest.fixture(scope="module")
def program() -> Path:
    """Kubelet's own code as a program that answers many questions."""
    return ensure(("kubelet-shapes",), console=None).path("kubelet-shapes")


@pytest.mark.parametrize("cases", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_pods_on_random_nodes_get_the_verdict_of_kubelet(
    program: Path, record_property: Callable[[str, object], None], cases: int
) -> None:
    random = Random(SEED)  # noqa: S311  # a draw, no secret
    judged = _judged(iter(lambda: case(random), None), cases)

    reasons = _compare(program, judged)

    record_property("cases that agree", f"{len(judged)}: {dict(reasons)}")
    common = {"", "TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError"}
    assert all(reasons[reason] > cases / 20 for reason in common), reasons
    assert reasons[NO_START] > cases / 200


def test_pods_on_every_machine_of_the_catalogue_get_the_verdict_of_kubelet(
    program: Path, record_property: Callable[[str, object], None]
) -> None:
    random = Random(SEED)  # noqa: S311  # a draw, no secret
    judged = _judged(_catalogue(random), None)

    reasons = _compare(program, judged)

    record_property("cases that agree", f"{len(judged)}: {dict(reasons)}")
    assert {node.policy for (node, _), _ in judged} == set(POLICIES)
    assert reasons[""] > 300
    assert reasons["TopologyAffinityError"] > 100


def _catalogue(random: Random) -> Iterator[Case]:
    tuning = Tuning(hugepages_1gi_per_numa_node=4)
    for name in names():
        for purpose in PURPOSES:
            hardware = load(name)
            try:
                node = from_plan(hardware, plan(hardware, tuning, purpose))
            except PlanError:
                continue
            for policy in POLICIES:
                for scope in SCOPES:
                    variant = replace(node, policy=policy, scope=scope)
                    for containers in (1, 1, 2):
                        asked = [
                            request(random, variant, containers, guaranteed=True)
                            for _ in range(containers)
                        ]
                        yield variant, [*asked[1:], replace(asked[0], kind="app")]


def _judged(cases: Iterator[Case], count: int | None) -> list[tuple[Case, KubeletOutcome]]:
    """Our verdicts, leaving out what kubelet itself would take too long for."""
    judged: list[tuple[Case, KubeletOutcome]] = []
    endless = 0
    for node, pod in cases:
        try:
            outcome = run(node, pod)
        except EndlessError:
            endless += 1
            continue
        if prod(len(one) for hints in outcome.hints.values() for one in hints) > MOST_COMBINATIONS:
            continue
        judged.append(((node, pod), outcome))
        if len(judged) == count:
            break
    assert endless <= len(judged) // 1000
    return judged


def _compare(program: Path, judged: Sequence[tuple[Case, KubeletOutcome]]) -> Counter[str]:
    answers = ask(program, [one for one, _ in judged])
    assert len(answers) == len(judged)
    differing = []
    for ((node, pod), outcome), answer in zip(judged, answers, strict=True):
        ours, theirs = _ours(node, pod, outcome), _theirs(answer, outcome)
        if ours != theirs:
            differing.append(f"{node}\n{pod}\nours:   {ours}\ntheirs: {theirs}")
    assert not differing, f"{len(differing)} of {len(judged)} differ; the first:\n{differing[0]}"
    return Counter(outcome.reason for _, outcome in judged)


def _ours(
    node: EmptyNode, pod: Sequence[ContainerRequest], outcome: KubeletOutcome
) -> dict[str, Any]:
    if outcome.reason == NO_START:
        return {"error": outcome.message}
    return {
        "admitted": not outcome.reason,
        "reason": outcome.reason,
        "message": outcome.message,
        "insufficient": sorted(insufficient(node, pod)),
        "placed": [
            {
                "hint": list(share.hint),
                "cpus": share.cpus,
                "memory": list(share.memory),
                "gpus": list(share.gpus),
            }
            for share in outcome.shares
        ],
    }


def _theirs(answer: dict[str, Any], outcome: KubeletOutcome) -> dict[str, Any]:
    if "error" in answer:
        return {"error": answer["error"]}
    if outcome.reason == "UnexpectedAdmissionError":  # kubelet wraps the message of the manager
        wrapped = f"Allocate failed due to {outcome.message}, which is unexpected"
        message = outcome.message if answer["message"] == wrapped else answer["message"]
        return {**answer, "message": message}
    return answer
