"""From captured files to the text of a catalogue file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hardware.importer import lscpu, lspci, nvidia_smi_query, nvidia_smi_topo, sysfs
from hardware.importer.assemble import assemble
from hardware.importer.capture import Capture, CaptureError, Drive, PciDevice
from hardware.importer.catalogue_file import Heading, catalogue_text

MEMINFO = "cat /sys/devices/system/node/node*/meminfo"


@dataclass(frozen=True, kw_only=True)
class Files:
    """Paths of the captured output. PCI comes from `sysfs`, or from `lspci` with `meminfo`."""

    lscpu: Path
    lspci: Path | None
    sysfs: Path | None
    meminfo: Path | None
    topo: Path | None
    gpus: Path | None


def import_machine(files: Files, heading: Heading, *, system_disk: str) -> str:
    """The YAML of the machine; CaptureError with file and line."""
    devices, drives = _devices(files)
    capture = Capture(
        processors=lscpu.parse(_read(files.lscpu), str(files.lscpu)),
        memory_gib=_memory(files),
        devices=devices,
        drives=drives,
        topology=nvidia_smi_topo.parse(_read(files.topo), str(files.topo)) if files.topo else None,
        gpus=nvidia_smi_query.parse(_read(files.gpus), str(files.gpus)) if files.gpus else None,
        where=_places(files),
    )
    entry = assemble(capture, heading.kind, system_disk=system_disk)
    return catalogue_text(heading, entry, _commands(files))


def _devices(files: Files) -> tuple[Sequence[PciDevice], Sequence[Drive] | None]:
    if (files.lspci is None) == (files.sysfs is None):
        raise CaptureError("--lspci, --sysfs", "exactly one of the two is needed")
    if files.sysfs is not None:
        return sysfs.devices(files.sysfs), sysfs.drives(files.sysfs)
    assert files.lspci is not None  # noqa: S101  # one of the two, as said above
    return lspci.parse(_read(files.lspci), str(files.lspci)), None


def _memory(files: Files) -> Mapping[int, int]:
    if files.meminfo is not None:
        return sysfs.memory_gib(_read(files.meminfo), str(files.meminfo))
    if files.sysfs is not None:
        return sysfs.memory(files.sysfs)
    raise CaptureError("--meminfo", f"lspci shows no memory: add the output of {MEMINFO}")


def _places(files: Files) -> dict[str, str]:
    devices = files.sysfs or files.lspci
    return {
        "lscpu": str(files.lscpu),
        "devices": str(devices),
        "memory": str(files.meminfo or files.sysfs),
        "topo": str(files.topo),
        "gpus": str(files.gpus),
    }


def _commands(files: Files) -> list[str]:
    return [
        command
        for command, given in (
            (lscpu.COMMAND, True),
            (lspci.COMMAND, files.lspci),
            ("sysfs", files.sysfs),
            (nvidia_smi_topo.COMMAND, files.topo),
            (nvidia_smi_query.COMMAND, files.gpus),
        )
        if given
    ]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CaptureError(str(path), f"no text: byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise CaptureError(str(path), f"cannot be read: {error.strerror}") from None
