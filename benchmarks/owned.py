"""Preview and `up` of fleets of owned machines in a twin, of growing size.

The environment is dev with more machines in its bare-metal pool. Each size has a twin of its own.
"""

import csv
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from rich.table import Table

from benchmarks.previews import ROOT, twin_of
from benchmarks.rehearsals import memory_of
from benchmarks.results import Goal
from rehearsal.processes import Processes
from settings import stack_file
from toolchain.build import Tools

SIZES = (100, 300, 1000)
POOL, INVENTORY = "dgx", "dgx.csv"
SAMPLE_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Brought:
    """One size: the seconds of a preview and of an update, and the most memory at once."""

    machines: int
    resources: int
    preview_s: float
    up_s: float
    peak_memory_gib: float


@dataclass(frozen=True, kw_only=True)
class Owned:
    """The sizes, the smallest first."""

    sizes: Sequence[Brought]

    @property
    def goals(self) -> Iterator[Goal]:
        """A machine of a larger fleet takes at most what one of the smallest takes."""
        first, *others = self.sizes
        for one in others:
            yield from _growth(one, first)

    def table(self) -> Table:
        """Return the figures, and how each grows by the machine."""
        columns = ("machines", "resources", "preview, s", "up, s", "memory, GiB")
        title = "owned machines, in a twin without checkpoints"
        table = Table(*columns, "preview, up, memory a machine", title=title, title_justify="left")
        first = self.sizes[0]
        for one in self.sizes:
            grown = [] if one is first else [*_growth(one, first)]
            missed = "" if all(goal.met for goal in grown) else ": missed"
            table.add_row(
                *(str(one.machines), str(one.resources), f"{one.preview_s:.1f}"),
                *(f"{one.up_s:.1f}", f"{one.peak_memory_gib:.2f}"),
                ", ".join(f"{goal.value:.2f}" for goal in grown) + missed,
            )
        return table


def _growth(one: Brought, first: Brought) -> Iterator[Goal]:
    """What a machine of a fleet takes, against one of the smallest fleet: linear growth is 1."""
    for name in ("preview_s", "up_s", "peak_memory_gib"):
        ratio = (getattr(one, name) / one.machines) / (getattr(first, name) / first.machines)
        what = f"{name} of {one.machines} owned machines / of {first.machines}, a machine"
        yield Goal(name=what, value=ratio, at_most=1)


def measure(tools: Tools, *, sizes: Sequence[int] = SIZES) -> Owned:
    """Bring up each size once."""
    return Owned(sizes=[_bring_up(tools, size) for size in sizes])


def _bring_up(tools: Tools, machines: int) -> Brought:
    with TemporaryDirectory(prefix="fleet-bench-") as folder:
        tracked = write_stack(Path(folder), machines)
        with twin_of(f"bench-owned-{machines}", tracked, tools) as (engine, processes):
            with _peak_gib(processes) as peak:
                preview_s = _timed(lambda: engine.preview(lambda _outcome: None))
                up_s = _timed(lambda: engine.up(lambda _outcome: None))
            return Brought(
                machines=machines,
                resources=len(engine.state()),
                preview_s=preview_s,
                up_s=up_s,
                peak_memory_gib=max(peak),
            )


def write_stack(folder: Path, machines: int) -> Path:
    """Write the stack file of dev with so many machines, and their inventory beside it."""
    stack: dict[str, Any] = yaml.safe_load(stack_file(ROOT, "dev").read_text(encoding="utf-8"))
    pool = stack["config"]["gpu-fleet:pools"][POOL]
    with (folder / INVENTORY).open("w", encoding="utf-8", newline="") as file:
        columns = csv.DictWriter(file, [*pool.pop("machines")[0]])
        columns.writeheader()
        columns.writerows(map(_machine, range(machines)))
    pool["inventory"] = INVENTORY
    stack["config"]["gpu-fleet:budget"] = {"usd_per_day": 1000 * machines}
    written = folder / "Pulumi.owned.yaml"
    written.write_text(yaml.safe_dump(stack), encoding="utf-8")
    return written


def _machine(number: int) -> dict[str, str]:
    address = f"10.10.{number // 250}.{number % 250 + 1}"
    return {
        "name": f"dev-dgx-{number:04}",
        "bmc_address": f"redfish-virtualmedia+https://{address}/redfish/v1/Systems/DGX",
        "boot_mac_address": f"94:6d:ae:01:{number // 256:02x}:{number % 256:02x}",
        "system_drive_serial": f"EXAMPLE-{number:04}",
    }


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def _peak_gib(processes: Processes) -> Iterator[list[float]]:
    """Yield the memory of all processes of the twin, measured again and again."""
    ended, found = threading.Event(), [0.0]

    def sample() -> None:
        while not ended.wait(SAMPLE_S):
            pids = [record.pid for record in processes.records()]
            found.append(sum(memory_of(pid) for pid in pids) / 2**30)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
