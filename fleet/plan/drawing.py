"""A machine as a picture: its NUMA nodes with cores by role, memory by use, GPUs and NICs.

Lengths are pixels of the SVG, from the top left corner of what a thing stands in.
"""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import jinja2

from fleet.plan.subject import Subject
from hardware.catalogue import NumaNode
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import NodePlan

T = TypeVar("T")
WIDTH = 1160
MARGIN = 24
PADDING = 16
HEAD = 76  # title and facts
CORE, CORE_WIDEST, CORE_GAP = 18, 36, 3
CHIP_WIDTH, CHIP_HEIGHT, CHIP_GAP = 76, 26, 6
BAR = 20
LINE = 18
LETTER = 7.2  # the mean of a 13 px letter
NARROW = 400  # a panel with a line of its own for its facts
FOOT = 56  # NVSwitch and legend
MIB_PER_GIB = 1024
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle with its style class, and the words in it or in its tooltip."""

    x: float
    y: float
    width: float
    height: float
    role: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A NUMA node: its place, its words from top to bottom, and its boxes."""

    x: float
    y: float
    width: float
    height: float
    title: str
    facts: str
    boxes: tuple[Box, ...]
    words: tuple[tuple[float, str], ...]


def draw(subject: Subject) -> str:
    """The picture as SVG, for light and dark pages alike."""
    hardware = subject.hardware
    columns = min(len(hardware.numa_nodes), 2 if len(hardware.numa_nodes) <= 2 else 4)
    width = (WIDTH - MARGIN * (columns + 1)) / columns
    panels: list[Panel] = []
    top = float(HEAD)
    for row in _rows(list(range(len(hardware.numa_nodes))), columns):
        made = [
            _panel(subject, index, x=MARGIN + column * (width + MARGIN), y=top, width=width)
            for column, index in enumerate(row)
        ]
        height = max(panel.height for panel in made)
        panels.extend(replace(panel, height=height) for panel in made)
        top += height + MARGIN
    template = _environment().get_template("machine.svg.j2")
    return template.render(
        width=WIDTH,
        height=top + FOOT,
        title=f"{hardware.name} for {subject.plan.purpose}",
        facts=_facts(subject),
        panels=panels,
        nvswitch=hardware.nvswitch,
        foot=top,
        margin=MARGIN,
        narrow=NARROW,
        roles=sorted({box.role for panel in panels for box in panel.boxes}, key=_ORDER.index),
        names=_NAMES,
    )


_ORDER = ("housekeeping", "workload", "reserved", "pages-1gi", "pages-2mi", "pods", "gpu", "nic")
_NAMES = {
    "housekeeping": "housekeeping core",
    "workload": "workload core",
    "reserved": "kept by the system",
    "pages-1gi": "1 GiB hugepages",
    "pages-2mi": "2 MiB hugepages",
    "pods": "memory for pods",
    "gpu": "GPU",
    "nic": "NIC",
}


def _facts(subject: Subject) -> str:
    hardware = subject.hardware
    parts = [
        hardware.cpu_model,
        f"{hardware.cpu_count} CPUs",
        f"{hardware.memory_gib:,} GiB",
        *([f"{hardware.gpu_count} {TIMES} {hardware.gpus[0].model}"] if hardware.gpus else []),
        f"plan {subject.plan.digest}",
    ]
    return " · ".join(parts)


def _panel(subject: Subject, index: int, *, x: float, y: float, width: float) -> Panel:
    wired, planned = subject.hardware.numa_nodes[index], subject.plan.nodes[index]
    inner = width - 2 * PADDING
    facts = f"{sum(map(len, wired.cores()))} CPUs · {wired.memory_gib:,} GiB"
    top = 66 if width < NARROW else 48
    boxes = [*_cores(wired, planned, top=top, width=inner)]
    below = max(box.y + box.height for box in boxes) + LINE
    words = _words(f"housekeeping CPUs {_spaced(planned.housekeeping)}", below, inner)
    words += _words(f"workload CPUs {_spaced(planned.workload)}", words[-1][0] + LINE, inner)
    bar = words[-1][0] + 12
    boxes.extend(_memory(wired, planned, top=bar, width=inner))
    words += _words(_memory_words(wired, planned), bar + BAR + LINE, inner)
    chips = [*_chips(subject, index, top=words[-1][0] + 12, width=inner)]
    boxes.extend(chips)
    bottom = max((chip.y + chip.height for chip in chips), default=words[-1][0])
    return Panel(
        x=x,
        y=y,
        width=width,
        height=bottom + PADDING,
        title=_socket(subject, index) + f"NUMA node {wired.id}",
        facts=facts,
        boxes=tuple(boxes),
        words=tuple(words),
    )


def _words(text: str, top: float, width: float) -> list[tuple[float, str]]:
    """The text wrapped to the width; each line with its baseline."""
    lines = textwrap.wrap(text, int(width // LETTER), break_on_hyphens=False)
    return [(top + number * LINE, line) for number, line in enumerate(lines)]


def _spaced(cpus: str) -> str:
    """A CPU list that may be broken between its ranges."""
    return cpus.replace(",", ", ")


def _socket(subject: Subject, index: int) -> str:
    """NUMA nodes are numbered socket by socket."""
    sockets, nodes = subject.hardware.sockets, len(subject.hardware.numa_nodes)
    return f"Socket {index * sockets // nodes}, " if 1 < sockets <= nodes else ""


def _cores(wired: NumaNode, planned: NodePlan, *, top: float, width: float) -> Iterator[Box]:
    kept = parse_list(planned.housekeeping)
    a_row = max(1, int((width + CORE_GAP) // (CORE + CORE_GAP)))
    cores = wired.cores()
    a_row = math.ceil(len(cores) / math.ceil(len(cores) / a_row))  # rows of equal length
    wide = min(CORE_WIDEST, (width + CORE_GAP) / a_row - CORE_GAP)
    for number, core in enumerate(cores):
        yield Box(
            x=PADDING + number % a_row * (wide + CORE_GAP),
            y=top + number // a_row * (CORE + CORE_GAP),
            width=wide,
            height=CORE,
            role="housekeeping" if core <= kept else "workload",
            text=f"core of CPU {', '.join(map(str, sorted(core)))}",
        )


def _memory_parts(wired: NumaNode, planned: NodePlan) -> dict[str, int]:
    """MiB of the node by use."""
    pages = {
        "pages-1gi": planned.hugepages_1gi * MIB_PER_GIB,
        "pages-2mi": planned.hugepages_2mi * 2,
    }
    kept = planned.reserved_memory_mib
    rest = wired.memory_gib * MIB_PER_GIB - kept - sum(pages.values())
    return {"reserved": kept, **pages, "pods": rest}


def _memory(wired: NumaNode, planned: NodePlan, *, top: float, width: float) -> Iterator[Box]:
    left = float(PADDING)
    total = wired.memory_gib * MIB_PER_GIB
    for role, mib in _memory_parts(wired, planned).items():
        if not mib:
            continue
        wide = max(3.0, width * mib / total) if role != "pods" else PADDING + width - left
        text = f"{_NAMES[role]}: {mib / MIB_PER_GIB:,.1f} GiB"
        yield Box(x=left, y=top, width=wide, height=BAR, role=role, text=text)
        left += wide


def _memory_words(wired: NumaNode, planned: NodePlan) -> str:
    pages = [
        f"{count} {TIMES} {size} hugepages"
        for count, size in ((planned.hugepages_1gi, "1 GiB"), (planned.hugepages_2mi, "2 MiB"))
        if count
    ]
    parts = _memory_parts(wired, planned)
    kept = f"{parts['reserved'] / MIB_PER_GIB:,.1f} GiB kept"
    return ", ".join((*pages, kept, f"{parts['pods'] / MIB_PER_GIB:,.0f} GiB for pods"))


def _chips(subject: Subject, index: int, *, top: float, width: float) -> Iterator[Box]:
    gpus = [f"GPU {gpu.index}" for gpu in subject.hardware.gpus if gpu.numa_node == index]
    nics = [nic.name for nic in subject.hardware.nics if nic.numa_node == index]
    step = CHIP_WIDTH + CHIP_GAP
    for role, labels in (("gpu", gpus), ("nic", nics)):
        for line in _rows(labels, max(1, int((width + CHIP_GAP) // step))):
            for place, label in enumerate(line):
                yield Box(
                    x=PADDING + place * step,
                    y=top,
                    width=CHIP_WIDTH,
                    height=CHIP_HEIGHT,
                    role=role,
                    text=label,
                )
            top += CHIP_HEIGHT + CHIP_GAP


def _rows(items: Sequence[T], length: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), length):
        yield items[start : start + length]


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
