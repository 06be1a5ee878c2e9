"""Finds the CPUs and the NUMA node of a rank's GPU from the rank's environment."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hardware.cpuset import format_list, parse_list

RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
"""torchrun, Open MPI, Slurm: the rank within the machine."""
QUERY = ("nvidia-smi", "--query-gpu=index,uuid,pci.bus_id", "--format=csv,noheader")

_ROW = re.compile(
    r"(\d+), (GPU-[^,]+), ([0-9A-Fa-f]+:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*", re.ASCII
)


class BindError(RuntimeError):
    """A rank that cannot be placed; the sentence says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The GPU of a rank, with its NUMA node and CPUs."""

    rank: int
    address: str
    numa_node: int
    cpus: frozenset[int]

    @property
    def sentence(self) -> str:
        """The placement as a line of the job's log."""
        return (
            f"rank {self.rank}: GPU {self.address}, NUMA node {self.numa_node}, "
            f"CPUs {format_list(self.cpus)}"
        )


def placement(
    environment: Mapping[str, str],
    allowed: Collection[int],
    run: Callable[[Sequence[str]], str],
    root: Path = Path("/"),
) -> Placement:
    """Returns the place of this rank among the `allowed` CPUs, those of the pod."""
    rank = local_rank(environment)
    address = _address(rank, environment.get("CUDA_VISIBLE_DEVICES"), run(QUERY))
    node = _numa_node(root, address)
    of_node = parse_list(
        (root / f"sys/devices/system/node/node{node}/cpulist").read_text(encoding="utf-8")
    )
    cpus = of_node & frozenset(allowed)
    if not cpus:
        raise BindError(
            f"NUMA node {node} of GPU {address} has CPUs {format_list(of_node)}, and the pod may "
            f"use {format_list(allowed)}: ask for more than one node's CPUs, or for fewer GPUs, "
            "so that the kubelet aligns them"
        )
    return Placement(rank=rank, address=address, numa_node=node, cpus=cpus)


def local_rank(environment: Mapping[str, str]) -> int:
    """Returns the rank within the machine, from the first variable of a launcher that is set."""
    for name in RANKS:
        text = environment.get(name)
        if text is not None:
            if not text.isascii() or not text.isdigit():
                raise BindError(f"{name} is {text!r}, expected 0 or more")
            return int(text)
    raise BindError(f"no launcher said which rank this is; set one of {', '.join(RANKS)}")


def _address(rank: int, visible: str | None, answer: str) -> str:
    """Returns the PCI address of the GPU with the rank's CUDA index, as sysfs spells it."""
    # nvidia-smi warns between the rows ("infoROM is corrupted"), or says "No devices were found"
    rows = [match.groups() for line in answer.splitlines() if (match := _ROW.fullmatch(line))]
    order = [row[2] for row in rows]
    if visible:
        order = [_chosen(name.strip(), rows) for name in visible.split(",")]
    # a launcher that shows each rank its own GPU leaves one, whatever the rank
    at = 0 if visible and len(order) == 1 else rank
    if at >= len(order):
        raise BindError(
            f"rank {rank} has no GPU: {len(order)} are visible; start as many ranks as GPUs"
        )
    domain, _, rest = order[at].lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _chosen(name: str, rows: Sequence[Sequence[str]]) -> str:
    for index, uuid, address in rows:
        if name == index or (name.startswith("GPU-") and uuid.startswith(name)):
            return address
    raise BindError(f"CUDA_VISIBLE_DEVICES names {name}, which nvidia-smi does not list")


def _numa_node(root: Path, address: str) -> int:
    path = root / f"sys/bus/pci/devices/{address}/numa_node"
    try:
        node = int(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BindError(f"the NUMA node of GPU {address} cannot be read: {error}") from error
    if node >= 0:
        return node
    nodes = parse_list((root / "sys/devices/system/node/online").read_text(encoding="utf-8"))
    if len(nodes) > 1:
        raise BindError(
            f"the firmware does not say to which of the NUMA nodes {format_list(nodes)} GPU "
            f"{address} belongs ({path} is {node})"
        )
    return next(iter(nodes))
