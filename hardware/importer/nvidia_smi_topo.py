"""`nvidia-smi topo -m`: how GPUs and RDMA cards are joined, and the NUMA node of each GPU.

nvidia-smi separates by tabs and underlines its header with escape codes even in a file. A copy that
lost its tabs is read by words. Drivers before 525 name the cards in the header, later ones number
them and add a legend.
"""

import re
from collections.abc import Sequence

from hardware.cpuset import CpusetError, parse_list
from hardware.importer.capture import CaptureError, GpuRow, GpuTopology

COMMAND = "nvidia-smi topo -m"
NEAR = ("PIX", "PXB", "PHB", "NODE")
"""Relations within a NUMA node; SYS crosses between NUMA nodes."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_RELATION = re.compile(r"X|NV\d+|SYS|NODE|PHB|PXB|PIX")
_LEGEND = re.compile(r"\s+(NIC\d+):\s+(\S+)")
_CPUS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def parse(text: str, where: str) -> GpuTopology:
    """The matrix; CaptureError with file and line."""
    lines = _ESCAPE.sub("", text).splitlines()
    header = next((n for n, line in enumerate(lines) if _is_header(line.split())), None)
    if header is None:
        raise CaptureError(where, f"no header with GPU0; it must be the output of {COMMAND}")
    devices = _devices(lines[header])
    gpus = [device for device in devices if re.fullmatch(r"GPU\d+", device)]
    rows = []
    for number, gpu in enumerate(gpus):
        position = header + 1 + number
        line = lines[position] if position < len(lines) else ""
        if line.split()[:1] != [gpu]:
            raise CaptureError(
                where, f"the row of {gpu} is missing or out of order", line=position + 1
            )
        rows.append(_row(line, devices, where, position + 1))
    _symmetric(rows, gpus, where)
    legend = {match[1]: match[2] for line in lines if (match := _LEGEND.match(line))}
    return GpuTopology(
        gpus=tuple(rows),
        nics=tuple(legend.get(device, device) for device in devices if device not in gpus),
    )


def _is_header(words: Sequence[str]) -> bool:
    """The row of GPU0 begins with that word, too, and goes on with a relation."""
    return words[:1] == ["GPU0"] and not any(map(_RELATION.fullmatch, words[1:2]))


def _devices(header: str) -> list[str]:
    words = header.split()
    return words[: words.index("CPU")] if "CPU" in words else words


def _row(line: str, devices: Sequence[str], where: str, number: int) -> GpuRow:
    name, *cells = line.split()
    relations = cells[: len(devices)]
    for relation in relations:
        if not _RELATION.fullmatch(relation):
            raise CaptureError(
                where,
                f'"{relation}" in the row of {name} is no relation; allowed: X, NV#, SYS, NODE, '
                "PHB, PXB and PIX",
                line=number,
            )
    if len(relations) < len(devices):
        raise CaptureError(
            where,
            f"the row of {name} has {len(relations)} relations, and the header names "
            f"{len(devices)} devices",
            line=number,
        )
    cpus, node = _affinity(line, cells[len(devices) :], len(devices))
    try:
        near = parse_list(cpus) if cpus is not None else None
    except CpusetError as error:
        raise CaptureError(where, f"the affinity of {name}: {error}", line=number) from None
    return GpuRow(relations=dict(zip(devices, relations, strict=True)), cpus=near, numa_node=node)


def _affinity(line: str, words: list[str], devices: int) -> tuple[str | None, int | None]:
    """The CPU list and the NUMA node, each None where nvidia-smi leaves it out or names several."""
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) > devices + 2:
        cpus, node = fields[devices + 1 : devices + 3]
    elif len(words) == 2 and words[1] == "N/A":  # no CPU list: NUMA node, and the GPU's own
        cpus, node = "", words[0]
    elif len(words) == 1 and words[0].isdecimal():  # one CPU or a NUMA node: who knows
        cpus, node = "", ""
    else:
        cpus, node, *_ = [*words, "", ""]
    return (
        cpus if _CPUS.fullmatch(cpus) else None,
        int(node) if node.isdecimal() else None,
    )


def _symmetric(rows: Sequence[GpuRow], gpus: Sequence[str], where: str) -> None:
    for row, gpu in zip(rows, gpus, strict=True):
        if row.relations[gpu] != "X":
            raise CaptureError(where, f"{gpu} is not itself (X) in its own column")
        for other_row, other in zip(rows, gpus, strict=True):
            if row.relations[other] != other_row.relations[gpu]:
                raise CaptureError(
                    where,
                    f"{gpu} to {other} is {row.relations[other]}, and back it is "
                    f"{other_row.relations[gpu]}",
                )
