"""`lspci -Dvmmnn`: a record of tagged lines for each PCI function, with its NUMA node.

lspci writes NUMANode only where the kernel knows it; in many virtual machines it does not.
"""

import re

from hardware.importer.capture import CaptureError, PciDevice

COMMAND = "lspci -Dvmmnn"
_ID = re.compile(r"(?P<name>.*?)\s*\[(?P<id>[0-9a-f]{4})\]")
_SLOT = re.compile(r"([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def parse(text: str, where: str) -> tuple[PciDevice, ...]:
    """Every PCI function in the order of its slot; CaptureError with file and line."""
    devices: list[PciDevice] = []
    record: dict[str, tuple[str, int]] = {}
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            tag, colon, value = line.partition(":")
            if not colon or " " in tag:
                raise CaptureError(where, f'"{line.strip()}" is no line of {COMMAND}', line=number)
            record[tag] = (value.strip(), number)
        elif record:
            devices.append(_device(record, where))
            record = {}
    if not devices:
        raise CaptureError(where, f"no device; it must be the output of {COMMAND}")
    return tuple(sorted(devices, key=lambda device: device.slot))


def _device(record: dict[str, tuple[str, int]], where: str) -> PciDevice:
    slot, line = record.get("Slot", ("", next(iter(record.values()))[1]))
    if not _SLOT.fullmatch(slot):
        raise CaptureError(where, f'the slot "{slot}" is none of PCI', line=line)
    node, node_line = record.get("NUMANode", ("-1", line))
    if not re.fullmatch(r"-1|\d+", node):
        raise CaptureError(where, f'the NUMA node "{node}" is no number', line=node_line)
    class_id = _numbered(record, "Class", where, line)
    vendor = _numbered(record, "Vendor", where, line)
    device = _numbered(record, "Device", where, line)
    return PciDevice(
        slot=normal_slot(slot),
        class_id=class_id[1],
        vendor_id=vendor[1],
        device_id=device[1],
        name=f"{vendor[0]} {device[0]}",
        numa_node=None if node == "-1" else int(node),
    )


def _numbered(
    record: dict[str, tuple[str, int]], tag: str, where: str, line: int
) -> tuple[str, str]:
    value, line = record.get(tag, ("", line))
    match = _ID.fullmatch(value)
    if match is None:
        raise CaptureError(
            where, f'{tag} is "{value}", without its number in brackets; run {COMMAND}', line=line
        )
    return match["name"], match["id"]


def normal_slot(slot: str) -> str:
    """The slot as sysfs writes it: four digits of domain, lower case."""
    domain, _, rest = slot.lower().rpartition(":")
    parts = f"{domain}:{rest}".split(":")
    prefix = parts[0] if len(parts) == 3 else "0"
    return f"{int(prefix, 16):04x}:{parts[-2]}:{parts[-1]}"
