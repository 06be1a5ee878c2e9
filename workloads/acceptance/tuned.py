"""Compares what the tuning gives with what a program gets without it; needs PyTorch alone.

Prints one line of JSON with the day, the machine, the driver, each comparison, and what was not
measured and why. Each comparison takes turns between its two sides, so that neither profits from a
warmer machine, and gives the median of each side.
"""

import json
import mmap
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROUNDS = 11
TABLE_BYTES = 4 << 30  # far more than the address translation of a core covers in 4 KiB pages
ROW_FLOATS, ROWS_OF_A_BATCH = 64, 500_000
COPY_BYTES = 1 << 30
REDUCED_BYTES = 64 << 10  # where an AllReduce waits for the CPU, not for links
REDUCTIONS = 500
NO_GPU = "no GPU is visible"
NO_TORCH = "PyTorch is not installed"

# include/uapi/asm-generic/mman-common.h and include/uapi/linux/mman.h
_THP, _NO_THP = 14, 15
_MAP_HUGETLB = 0x40000
_PAGE_SIZES = {"1 GiB": 30 << 26, "2 MiB": 21 << 26}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`tuned` and `untuned` are medians in `unit`; `more_is_better` says which is the better."""

    name: str
    unit: str
    more_is_better: bool
    tuned_by: str
    untuned_by: str
    tuned: float
    untuned: float


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A comparison that was not made."""

    name: str
    why: str


def compare(  # noqa: PLR0913  # the two sides and how to name them
    name: str,
    unit: str,
    tuned: tuple[str, Callable[[], float]],
    untuned: tuple[str, Callable[[], float]],
    *,
    more_is_better: bool,
    rounds: int = ROUNDS,
) -> Comparison:
    """Measures both sides in turn, after one round that does not count."""
    good, bad = tuned[1], untuned[1]
    pairs = [(good(), bad()) for _ in range(rounds + 1)][1:]
    return Comparison(
        name=name,
        unit=unit,
        more_is_better=more_is_better,
        tuned_by=tuned[0],
        untuned_by=untuned[0],
        tuned=statistics.median(pair[0] for pair in pairs),
        untuned=statistics.median(pair[1] for pair in pairs),
    )


def measure() -> Iterator[Comparison | Missing]:
    """Yields a comparison, or why it is missing, for each setting."""
    names = ("pinned copies", "THP", "hugepages", "pinning", "small AllReduce")
    try:
        import torch  # type: ignore[import-not-found]  # noqa: PLC0415  # the image brings it
    except ImportError:
        yield from (Missing(name=name, why=NO_TORCH) for name in names)
        return
    if not torch.cuda.is_available():
        yield from (Missing(name=name, why=NO_GPU) for name in names)
        return
    torch.set_num_threads(1)
    yield from _copies(torch)
    yield from _pages(torch)
    yield _small_all_reduce(torch)


def _copies(torch: Any) -> Iterator[Comparison]:
    """Copies 1 GiB each way, from and to pinned and pageable memory, in GB/s."""
    floats = COPY_BYTES // 4
    on_gpu = torch.empty(floats, device="cuda")
    pinned, pageable = torch.ones(floats, pin_memory=True), torch.ones(floats)

    def copied(source: Any, target: Any) -> Callable[[], float]:
        def once() -> float:
            torch.cuda.synchronize()
            begin = time.perf_counter()
            target.copy_(source, non_blocking=True)
            torch.cuda.synchronize()
            return COPY_BYTES / (time.perf_counter() - begin) / 1e9

        return once

    for name, tuned, untuned in (
        ("pinned copies, host to GPU", copied(pinned, on_gpu), copied(pageable, on_gpu)),
        ("pinned copies, GPU to host", copied(on_gpu, pinned), copied(on_gpu, pageable)),
    ):
        sides = ("pinned memory", tuned), ("pageable memory", untuned)
        yield compare(name, "GB/s", *sides, more_is_better=True)


def _pages(torch: Any) -> Iterator[Comparison | Missing]:
    """Reads random rows of a 4 GiB table, as data loaders do, and pins it, by kind of page."""
    plain = _table(torch, _mapped(advice=_NO_THP))
    big = _table(torch, _mapped(advice=_THP))
    yield _rows(torch, "THP", plain, ("transparent huge pages", big))
    for size, bits in _PAGE_SIZES.items():
        try:
            huge = _table(torch, _mapped(flags=_MAP_HUGETLB | bits))
        except OSError:  # the container may use no such pages
            continue
        yield _rows(torch, "hugepages", plain, (f"huge pages of {size}", huge))
        pinned, unpinned = _pinning(torch, huge), _pinning(torch, plain)
        sides = (f"huge pages of {size}", pinned), ("4 KiB pages", unpinned)
        yield compare("pinning 4 GiB", "s", *sides, more_is_better=False)
        return
    why = "this container may use no huge pages of 1 GiB or 2 MiB"
    yield from (Missing(name=name, why=why) for name in ("hugepages", "pinning"))


def _rows(torch: Any, name: str, plain: Any, tuned: tuple[str, Any]) -> Comparison:
    def read(table: Any) -> Callable[[], float]:
        rows = table.view(-1, ROW_FLOATS)
        order = torch.randint(0, rows.shape[0], (ROWS_OF_A_BATCH,))

        def once() -> float:
            begin = time.perf_counter()
            torch.index_select(rows, 0, order)
            return ROWS_OF_A_BATCH / (time.perf_counter() - begin) / 1e6

        return once

    sides = (tuned[0], read(tuned[1])), ("4 KiB pages", read(plain))
    name = f"{name}, random rows of {ROW_FLOATS * 4} bytes"
    return compare(name, "million rows/s", *sides, more_is_better=True)


def _pinning(torch: Any, table: Any) -> Callable[[], float]:
    """Returns how to time the registration of the table for copies by the GPU, in seconds."""
    runtime, address = torch.cuda.cudart(), table.data_ptr()

    def once() -> float:
        begin = time.perf_counter()
        error = runtime.cudaHostRegister(address, TABLE_BYTES, 0)
        seconds = time.perf_counter() - begin
        if int(error):
            raise RuntimeError(f"cudaHostRegister failed with {error}")
        runtime.cudaHostUnregister(address)
        return seconds

    return once


def _mapped(*, flags: int = 0, advice: int | None = None) -> mmap.mmap:
    """Maps private memory; OSError where the kernel has no such pages to give."""
    area = mmap.mmap(-1, TABLE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags)
    if advice is not None:
        area.madvise(advice)
    return area


def _table(torch: Any, area: mmap.mmap) -> Any:
    """Returns the area as a tensor of floats whose every page is there."""
    return torch.frombuffer(area, dtype=torch.float32).fill_(1.0)


def _small_all_reduce(torch: Any) -> Comparison | Missing:
    """Times AllReduce of 64 KiB with each rank beside its GPU, and with ranks where they fall."""
    gpus = torch.cuda.device_count()
    name = "small AllReduce"
    if gpus < 2:
        return Missing(name=name, why=f"it needs two GPUs and {gpus} is visible")
    sides = ("ranks beside their GPU", _ranks(bound=True)), ("unbound ranks", _ranks(bound=False))
    return compare(f"{name}, 64 KiB", "us", *sides, more_is_better=False)


def _ranks(*, bound: bool) -> Callable[[], float]:
    """Returns how to time one AllReduce over all GPUs, in microseconds, in processes of its own."""

    def once() -> float:
        command = ["torchrun", "--standalone", "--nproc-per-node=gpu", __file__]
        found = {**os.environ, "FLEET_RANK": "bound" if bound else "free"}
        done = subprocess.run(command, env=found, capture_output=True, text=True, check=True)
        return float(done.stdout.strip().splitlines()[-1])

    return once


def _rank(kind: str) -> None:
    """Runs as one rank; the first prints the time of one AllReduce."""
    import torch  # noqa: PLC0415  # the image brings it
    from torch import distributed  # noqa: PLC0415  # as above

    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    if kind == "bound":
        beside = _cpus_beside(torch.cuda.get_device_properties(rank))
        os.sched_setaffinity(0, beside & os.sched_getaffinity(0) or os.sched_getaffinity(0))
    distributed.init_process_group("nccl")
    values = torch.ones(REDUCED_BYTES // 4, device="cuda")
    for _ in range(REDUCTIONS):
        distributed.all_reduce(values)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(REDUCTIONS):
        distributed.all_reduce(values)
        torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    distributed.destroy_process_group()
    if rank == 0:
        print(seconds / REDUCTIONS * 1e6)  # noqa: T201  # read by the process above


def _cpus_beside(properties: Any) -> set[int]:
    """Returns the CPUs of the GPU's NUMA node, from its PCI address in sysfs."""
    place = properties.pci_domain_id, properties.pci_bus_id, properties.pci_device_id
    text = Path("/sys/bus/pci/devices/{:04x}:{:02x}:{:02x}.0/local_cpulist".format(*place))
    found: set[int] = set()
    for part in text.read_text(encoding="utf-8").strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def machine() -> dict[str, str]:
    """Returns the names by which a result can be compared with another."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        rows = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
        name, driver = (part.strip() for part in rows[0].split(","))
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError):
        rows, name, driver = [], "none", "none"
    with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {
        "gpus": f"{len(rows)} x {name}" if rows else "none",
        "driver": driver,
        "cpu": models[0] if models else platform.machine(),
        "kernel": platform.release(),
    }


def main() -> None:
    """Prints the result."""
    found = list(measure())
    result = {
        "day": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "comparisons": [asdict(each) for each in found if isinstance(each, Comparison)],
        "missing": [asdict(each) for each in found if isinstance(each, Missing)],
    }
    print(json.dumps(result))  # noqa: T201  # the log of the pod


if __name__ == "__main__":
    if "FLEET_RANK" in os.environ:
        _rank(os.environ["FLEET_RANK"])
    else:
        main()
