"""Parses nvidia-smi: `-q -x`, `nvlink --status` and `topo -m`.

Element names are those of NVIDIA's nvsmi_device_v12.dtd and v13.dtd (drivers 535 to 580).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_LINK = re.compile(r"\s+Link (\d+): (.+)")
_GPU_HEADER = re.compile(r"GPU (\d+): ")
_SLOWDOWNS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
_UNCORRECTABLE = re.compile(r"(sram|dram)_uncorrectable(_\w+)?")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, kw_only=True)
class SeenGpu:
    """A GPU as the driver sees it; None where it says N/A."""

    address: str
    model: str
    memory_mib: float | None
    bar1_mib: float | None
    pcie_gen: float | None
    pcie_gen_max: float | None
    pcie_width: float | None
    performance_state: str
    persistence: str
    ecc: str
    ecc_pending: str
    uncorrectable_errors: int
    remap_pending: bool
    remap_failed: bool
    slowdowns: tuple[str, ...]
    clock_limit: tuple[str, str]
    """Application clock of the multiprocessors as set, and its default."""
    fabric: tuple[str, str]
    """State and status of the GPU's registration with the NVLink fabric."""


@dataclass(frozen=True, kw_only=True)
class Driver:
    """The driver's version and its GPUs in the order of nvidia-smi's index."""

    version: str
    gpus: tuple[SeenGpu, ...]


def parse_query(text: str) -> Driver:
    """Parses `nvidia-smi -q -x`; ValueError for another document."""
    # the document comes from the driver's own program, and its DTD is named, never loaded
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  # as said
    except ElementTree.ParseError as error:
        raise ValueError(f"no XML: {error}") from error
    if root.tag != "nvidia_smi_log":
        raise ValueError(f"<{root.tag}> instead of <nvidia_smi_log>")
    gpus = tuple(_gpu(element) for element in root.findall("gpu"))
    return Driver(
        version=_text(root, "driver_version"),
        gpus=tuple(sorted(gpus, key=lambda gpu: gpu.address)),
    )


def _gpu(gpu: ElementTree.Element) -> SeenGpu:
    link = "pci/pci_gpu_link_info"
    return SeenGpu(
        address=_sysfs_address(gpu.get("id", "")),
        model=_text(gpu, "product_name"),
        memory_mib=_number(gpu, "fb_memory_usage/total"),
        bar1_mib=_number(gpu, "bar1_memory_usage/total"),
        pcie_gen=_number(gpu, f"{link}/pcie_gen/current_link_gen"),
        pcie_gen_max=_number(gpu, f"{link}/pcie_gen/max_link_gen"),
        pcie_width=_number(gpu, f"{link}/link_widths/current_link_width"),
        performance_state=_text(gpu, "performance_state"),
        persistence=_text(gpu, "persistence_mode"),
        ecc=_text(gpu, "ecc_mode/current_ecc"),
        ecc_pending=_text(gpu, "ecc_mode/pending_ecc"),
        uncorrectable_errors=_uncorrectable(gpu),
        remap_pending=_text(gpu, "remapped_rows/remapped_row_pending") == "Yes",
        remap_failed=_text(gpu, "remapped_rows/remapped_row_failure") == "Yes",
        slowdowns=_slowdowns(gpu),
        clock_limit=(
            _text(gpu, "applications_clocks/graphics_clock"),
            _text(gpu, "default_applications_clocks/graphics_clock"),
        ),
        fabric=(_text(gpu, "fabric/state"), _text(gpu, "fabric/status")),
    )


def _sysfs_address(bus_id: str) -> str:
    """`00000000:1B:00.0` -> `0000:1b:00.0`: the kernel writes four digits of the domain."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _text(element: ElementTree.Element, path: str) -> str:
    return (element.findtext(path) or "N/A").strip()


def _number(element: ElementTree.Element, path: str) -> float | None:
    found = _NUMBER.match(_text(element, path))
    return None if found is None else float(found[0])


def _uncorrectable(gpu: ElementTree.Element) -> int:
    volatile = gpu.find("ecc_errors/volatile")
    counted = () if volatile is None else tuple(volatile)
    texts = [each.text or "" for each in counted if _UNCORRECTABLE.fullmatch(each.tag)]
    return sum(int(text) for text in texts if text.isdigit())


def _slowdowns(gpu: ElementTree.Element) -> tuple[str, ...]:
    reasons = gpu.find("clocks_event_reasons")
    if reasons is None:
        return ()
    wanted = {f"clocks_event_reason_{name}": name for name in _SLOWDOWNS}
    return tuple(
        wanted[each.tag] for each in reasons if each.tag in wanted and each.text == "Active"
    )


def parse_nvlinks(text: str) -> Mapping[int, int]:
    """Parses `nvidia-smi nvlink --status`; returns the number of active links by GPU."""
    active: dict[int, int] = {}
    gpu = -1
    for line in text.splitlines():
        if header := _GPU_HEADER.match(line):
            gpu = int(header[1])
            active[gpu] = 0
        elif link := _LINK.match(line):
            active[gpu] = active.get(gpu, 0) + ("GB/s" in link[2])
    return active


@dataclass(frozen=True, kw_only=True)
class SeenTopology:
    """`links` is the kind of path between two GPUs (NV18, SYS, …), `numa` the node of a GPU."""

    links: Mapping[tuple[int, int], str]
    numa: Mapping[int, str]


def parse_topology(text: str) -> SeenTopology:
    """Parses `nvidia-smi topo -m`, with tabs as it prints it or with spaces as people paste it.

    It underlines the header with escape codes, into a pipe too.
    """
    links: dict[tuple[int, int], str] = {}
    numa: dict[int, str] = {}
    header: list[str] = []
    for line in _ESCAPE.sub("", text).splitlines():
        words = line.split()
        if not header:
            header = words if words[:1] == ["GPU0"] else []
            continue
        if not words or not re.fullmatch(r"GPU\d+", words[0]):
            continue
        row = int(words[0][3:])
        peers = [name for name in header if re.fullmatch(r"GPU\d+|NIC\d+|mlx5_\d+", name)]
        for name, how in zip(peers, words[1:], strict=False):
            if name.startswith("GPU") and how != "X":
                links[row, int(name[3:])] = how
        _, node, *_ = [*words[1 + len(peers) :], "N/A", "N/A"]
        numa[row] = node
    return SeenTopology(links=links, numa=numa)
