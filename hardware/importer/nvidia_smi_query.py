"""`nvidia-smi --query-gpu=...`: model, memory and PCIe link of each GPU, for GPUs that are new."""

import csv

from hardware.importer.capture import MIB_PER_GIB, CaptureError, GpuFacts
from hardware.importer.lspci import normal_slot

_FIELDS = (
    "index",
    "name",
    "memory.total",
    "pci.bus_id",
    "pcie.link.gen.max",
    "pcie.link.width.max",
)
COMMAND = f"nvidia-smi --query-gpu={','.join(_FIELDS)} --format=csv"


def parse(text: str, where: str) -> tuple[GpuFacts, ...]:
    """A row for each GPU; CaptureError with file and line."""
    header, *rows = list(csv.reader(text.splitlines(), skipinitialspace=True)) or [[]]
    if [name.split(" ")[0] for name in header] != list(_FIELDS):
        raise CaptureError(where, f"the header is not that of {COMMAND}", line=1)
    return tuple(_gpu(row, where, line) for line, row in enumerate(rows, start=2) if row)


def _gpu(row: list[str], where: str, line: int) -> GpuFacts:
    try:
        index, model, memory, slot, generation, width = row
        return GpuFacts(
            index=int(index),
            model=model,
            # rounded up: 81559 MiB are sold as 80 GB, 143771 MiB as 141 GB
            memory_gib=-(-int(memory.removesuffix(" MiB")) // MIB_PER_GIB),
            slot=normal_slot(slot),
            pcie_gen=int(generation) if generation.isdecimal() else None,
            pcie_width=int(width) if width.isdecimal() else None,
        )
    except ValueError:
        raise CaptureError(where, f'"{", ".join(row)}" is no row of {COMMAND}', line=line) from None
