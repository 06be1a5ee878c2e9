"""Binds itself to each NUMA node in turn, fills memory there, and counts where the pages lie."""

import argparse
import json
import mmap
import os
import re
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from hardware.cpuset import format_list, parse_list
from workloads.bind.memory import set_policy

NODES = Path("/sys/devices/system/node")
MIB = 64
_MIB = 1024**2
_PLACED = re.compile(r"N(\d+)=(\d+)")


@dataclass(frozen=True, kw_only=True)
class MeasuredNode:
    """A NUMA node; `pages` counts the probe's pages by the node that they lie on."""

    id: int
    cpus: str
    memory_mib: int
    pages: dict[str, int]
    error: str | None = None


def probe(mib: int) -> list[MeasuredNode]:
    """Measures every node that is online; `error` has the kernel's refusal."""
    online = parse_list((NODES / "online").read_text(encoding="utf-8"))
    return [_node(node, mib) for node in sorted(online)]


def _node(node: int, mib: int) -> MeasuredNode:
    folder = NODES / f"node{node}"
    cpus = parse_list((folder / "cpulist").read_text(encoding="utf-8"))
    words = (folder / "meminfo").read_text(encoding="utf-8").split()
    memory_mib = int(words[words.index("MemTotal:") + 1]) // 1024
    pages: dict[str, int] = {}
    error = None
    allowed = cpus & os.sched_getaffinity(0)
    before = os.sched_getaffinity(0)
    try:
        if allowed:
            os.sched_setaffinity(0, allowed)
        set_policy("bind", node)
        pages = _filled(mib)
    except OSError as refused:
        error = str(refused)
    finally:
        os.sched_setaffinity(0, before)
    return MeasuredNode(
        id=node,
        cpus=format_list(cpus),
        memory_mib=memory_mib,
        pages=pages,
        error=error,
    )


def _filled(mib: int) -> dict[str, int]:
    """Fills new memory and counts its pages by node, from /proc/self/numa_maps."""
    with mmap.mmap(-1, mib * _MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1
        # the largest anonymous mapping is ours
        lines = Path("/proc/self/numa_maps").read_text(encoding="utf-8").splitlines()
        counts = [
            {node: int(pages) for node, pages in _PLACED.findall(line)}
            for line in lines
            if "anon=" in line
        ]
        return max(counts, key=lambda count: sum(count.values()), default={})


def main() -> int:
    """Prints one line of JSON; with --stay the pod stays Running for others to read its log."""
    parser = argparse.ArgumentParser(prog="fleet-numa-probe", description=__doc__)
    parser.add_argument("--mib", type=int, default=MIB)
    parser.add_argument("--stay", action="store_true")
    given = parser.parse_args()
    found = [asdict(node) for node in probe(given.mib)]
    answer = {"machine": os.environ.get("NODE", os.uname().nodename), "nodes": found}
    print(json.dumps(answer), flush=True)  # noqa: T201  # the log of the pod
    while given.stay:
        time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
