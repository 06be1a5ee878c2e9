"""A virtual machine of two sockets, each a NUMA node of two cores with two threads.

Each NUMA node has a network card and an NVMe drive behind PCIe bridges of its own; a third drive
has partitions, as a system disk has. Drives have fewer queues than there are CPUs, so that each
queue may be served by several. The machine ends by itself after its report, by the time limit, or
with the process that started it.
"""

import json
import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.judges import cpio
from tests.support.judges.debian import Debian
from tests.support.judges.presence import absent

# CPUs as lists of the kernel: each NUMA node's, one list an SMT thread
THREADS = (("0,2", "1,3"), ("4,6", "5,7"))
NODE_GIB = 4
DRIVE_MIB = 400
DRIVES = ("scratch0", "scratch1", "system")
KVM = Path("/dev/kvm")
OWN_ARGUMENTS = (
    *("console=ttyS0", "panic=-1", "rdinit=/usr/lib/systemd/systemd", "systemd.unit=judge.target"),
    *("systemd.firstboot=off", "systemd.show_status=error"),
    # the same memory at each boot; and what an emulated processor is too slow for
    *("nokaslr", "no_timer_check", "nopti"),
)
# QEMU's own AMD processor has no threads; not every host has the register of this name
_CPU = {"kvm": "host,arch-capabilities=off", "tcg": "max,vendor=GenuineIntel"}
LIMIT_S = {"kvm": 90, "tcg": 400}  # emulated, it takes a minute on two idle cores
# one thread for all CPUs: with a thread each, QEMU 7.2 has stopped for good within the kernel
_ACCELERATOR = {"kvm": ("-accel", "kvm"), "tcg": ("-accel", "tcg,thread=single")}


def accelerators() -> tuple[str, ...]:
    """KVM where this process may use it, then emulation, twice: it may stop for good on its own.

    /dev/kvm without the processor's own virtualization is there for special kernels alone (PVM): a
    stock one hangs on it before its first line.
    """
    flags = Path("/proc/cpuinfo").read_text().split()
    usable = os.access(KVM, os.R_OK | os.W_OK) and ("svm" in flags or "vmx" in flags)
    return ("kvm", "tcg", "tcg") if usable else ("tcg", "tcg")


def programs() -> tuple[str, str]:
    """QEMU and what starts it; a test is skipped where one is missing."""
    qemu, setpriv = shutil.which("qemu-system-x86_64"), shutil.which("setpriv")
    if qemu is None:
        absent("QEMU", "there is no qemu-system-x86_64 (Debian: qemu-system-x86)")
    if setpriv is None:
        absent("QEMU", "there is no setpriv (util-linux) to end the machine with its test")
    return qemu, setpriv


def boot(debian: Debian, root: Path, folder: Path, *, arguments: Sequence[str]) -> dict[str, Any]:
    """The report of a machine that boots `root` with kernel `arguments`."""
    failed = []
    for accelerator in accelerators():
        write_files(root, folder)
        command = start_command(debian, folder, arguments=arguments, accelerator=accelerator)
        report = folder / "report"
        try:
            subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=LIMIT_S[accelerator]
            )
            found: dict[str, Any] = json.loads(report.read_text())
        except subprocess.CalledProcessError as error:
            failed.append(f"{error}: {error.stderr}")
        except (ValueError, subprocess.TimeoutExpired) as error:
            failed.append(f"{accelerator}: no report: {error}")
        else:
            assert "error" not in found, found["error"]
            if failed:
                warnings.warn(f"the machine came up at attempt {len(failed) + 1}", stacklevel=2)
            return found
    console = (folder / "console").read_text(errors="replace")
    raise AssertionError("\n".join([*failed, console[-6000:]]))


def write_files(root: Path, folder: Path) -> None:
    """Write the drives of the machine, and `root` as what its kernel unpacks."""
    with (folder / "initrd").open("wb") as initrd:
        cpio.write_tree(initrd, root, leave_out=("boot",))
    for name in DRIVES:
        with (folder / name).open("wb") as drive:
            drive.truncate(DRIVE_MIB * 1024**2)
            if name == "system":
                drive.write(_partition_table())


def start_command(
    debian: Debian, folder: Path, *, arguments: Sequence[str], accelerator: str
) -> list[str]:
    """The command line that runs the machine in the foreground, and never without its parent."""
    qemu, setpriv = programs()
    line = " ".join([*OWN_ARGUMENTS, *arguments])
    return [
        *(setpriv, "--pdeathsig", "KILL", qemu, "-no-user-config", "-nodefaults", "-no-reboot"),
        *("-machine", "q35,kernel-irqchip=split", "-cpu", _CPU[accelerator]),
        *_ACCELERATOR[accelerator],
        *("-display", "none", "-kernel", str(debian.kernel), "-initrd", str(folder / "initrd")),
        *("-append", line),
        *("-serial", f"file:{folder / 'console'}", "-serial", f"file:{folder / 'report'}"),
        *_wiring(folder),
    ]


def _wiring(folder: Path) -> Iterator[str]:
    yield from ("-smp", "8,sockets=2,cores=2,threads=2", "-m", f"{2 * NODE_GIB}G")
    yield from ("-device", "intel-iommu")
    for node in range(2):
        yield from ("-object", f"memory-backend-ram,id=memory{node},size={NODE_GIB}G")
        cpus = f"cpus={4 * node}-{4 * node + 3}"
        yield from ("-numa", f"node,nodeid={node},{cpus},memdev=memory{node}")
        bus = f"pxb-pcie,id=socket{node},bus_nr={64 * (node + 1)},numa_node={node},bus=pcie.0"
        yield from ("-device", bus)
        yield from _device(f"virtio-net-pci,id=net{node}", node, 0)
        yield from _nvme(folder / f"scratch{node}", node, 1)
    yield from _nvme(folder / "system", 0, 2)


def _device(device: str, node: int, slot: int) -> Iterator[str]:
    port = f"port{node}{slot}"
    place = f"bus=socket{node},chassis={node + 1},slot={slot},addr={slot}.0"
    yield from ("-device", f"pcie-root-port,id={port},{place}")
    yield from ("-device", f"{device},bus={port}")


def _nvme(file: Path, node: int, slot: int) -> Iterator[str]:
    yield from ("-drive", f"file={file},format=raw,if=none,id={file.name},discard=unmap")
    yield from _device(f"nvme,drive={file.name},serial={file.name},max_ioqpairs=2", node, slot)


def _partition_table() -> bytes:
    """A partition table with one Linux partition from the first MiB on."""
    entry = bytes([0, 0, 2, 0, 0x83, 0, 2, 0]) + (2048).to_bytes(4, "little") * 2
    return b"\0" * 446 + entry + b"\0" * 48 + b"\x55\xaa"
