"""A sysfs tree, /sys itself or a copy: memory per NUMA node, PCI devices and NVMe drives."""

import re
from collections.abc import Iterator
from pathlib import Path

from hardware.importer.capture import KIB_PER_GIB, CaptureError, Drive, PciDevice

_SECTOR = 512
_GIB = 1024**3
_GENERATIONS = {"2.5": 1, "5": 2, "5.0": 2, "8.0": 3, "8": 3, "16.0": 4, "32.0": 5, "64.0": 6}
_MEMORY = re.compile(r"Node (?P<node>\d+) MemTotal:\s+(?P<kib>\d+) kB")
_PREFETCHABLE = 0x2000
_REGION = re.compile(r"0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+")

# https://github.com/pciutils/pciids of 2026-08-22; sysfs has numbers alone
_NAMES = {
    "15b3:101b": "NVIDIA ConnectX-6",
    "15b3:101d": "NVIDIA ConnectX-6 Dx",
    "15b3:1021": "NVIDIA ConnectX-7",
    "15b3:1023": "NVIDIA ConnectX-8",
    "15b3:a2dc": "NVIDIA BlueField-3",
    "1d0f:ec20": "Amazon Elastic Network Adapter",
    "1af4:1000": "virtio",
    "1af4:1041": "virtio",
}


def memory_gib(text: str, where: str) -> dict[int, int]:
    """GiB by NUMA node from meminfo files, one after the other, rounded down."""
    found = {}
    for match in _MEMORY.finditer(text):
        found[int(match["node"])] = int(match["kib"]) // KIB_PER_GIB
    if not found:
        raise CaptureError(where, 'no line such as "Node 0 MemTotal: 1056270404 kB"')
    return found


def memory(tree: Path) -> dict[int, int]:
    """GiB by NUMA node of a tree."""
    files = sorted(tree.glob("devices/system/node/node*/meminfo"))
    where = f"{tree}/devices/system/node"
    return memory_gib("\n".join(file.read_text(encoding="utf-8") for file in files), where)


def devices(tree: Path) -> tuple[PciDevice, ...]:
    """Every PCI function in the order of its slot; CaptureError names the file."""
    folder = tree / "bus" / "pci" / "devices"
    if not folder.is_dir():
        raise CaptureError(str(tree), "no sysfs: it has no folder bus/pci/devices")
    return tuple(_device(path) for path in sorted(folder.iterdir(), key=lambda path: path.name))


def drives(tree: Path) -> tuple[Drive, ...]:
    """The NVMe namespaces, in the order of their controllers' slots."""
    return tuple(_drives(tree / "bus" / "pci" / "devices"))


def _drives(folder: Path) -> Iterator[Drive]:
    for controller in sorted(folder.glob("*/nvme/nvme*")):
        model = _text(controller / "model")
        for size in sorted(controller.glob("nvme*n*/size")):
            yield Drive(
                # with multipath the path to a namespace is called nvme0c0n1
                name=re.sub(r"c\d+n", "n", size.parent.name),
                model=model.strip() or None,
                size_gib=_number(size) * _SECTOR // _GIB,
                numa_node=_node(controller.parent.parent),
            )


def _device(path: Path) -> PciDevice:
    vendor, device = _hexadecimal(path / "vendor"), _hexadecimal(path / "device")
    rdma, net = _children(path, "infiniband/*"), _children(path, "net/*", "virtio*/net/*")
    speed = _text(path / "max_link_speed").split(" ")[0]
    width = _text(path / "max_link_width")
    return PciDevice(
        slot=path.name,
        class_id=_hexadecimal(path / "class")[:4],
        vendor_id=vendor,
        device_id=device,
        name=_NAMES.get(f"{vendor}:{device}"),
        numa_node=_node(path),
        pcie_gen=_GENERATIONS.get(speed),
        pcie_width=int(width) if width.isdecimal() and 0 < int(width) <= 32 else None,
        bar1_gib=_largest_region_gib(path / "resource"),
        names=rdma or net,
        rdma=bool(rdma),
    )


def _node(path: Path) -> int | None:
    text = _text(path / "numa_node") or "-1"
    if not re.fullmatch(r"-1|\d+", text):
        raise CaptureError(str(path / "numa_node"), f'"{text}" is no number', line=1)
    return None if text == "-1" else int(text)


def _hexadecimal(path: Path) -> str:
    text = _text(path)
    if not re.fullmatch(r"0x[0-9a-f]{4,6}", text):
        raise CaptureError(str(path), f'"{text}" is no hexadecimal number', line=1)
    return text[2:]


def _number(path: Path) -> int:
    text = _text(path)
    if not text.isdecimal():
        raise CaptureError(str(path), f'"{text}" is no number', line=1)
    return int(text)


def _largest_region_gib(path: Path) -> int | None:
    """GiB of the largest prefetchable region, which for a GPU is BAR1; None below one GiB."""
    sizes = [0]
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not _REGION.fullmatch(line):
            raise CaptureError(str(path), f'"{line}" is no region of PCI', line=number)
        start, end, flags = (int(part, 16) for part in line.split())
        if flags & _PREFETCHABLE and end > start:
            sizes.append(end - start + 1)
    return max(sizes) // _GIB or None


def _children(folder: Path, *patterns: str) -> tuple[str, ...]:
    return tuple(sorted(path.name for pattern in patterns for path in folder.glob(pattern)))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    except UnicodeDecodeError as error:
        raise CaptureError(str(path), f"no text: byte {error.start} is not UTF-8") from None
