"""Times `fleet rehearse` as a user starts it: its phases, the command, its peak memory."""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryFile

import psutil

from benchmarks.results import Rehearsed

ROOT = Path(__file__).resolve().parent.parent
MOST_S = {"dev": 75, "research": 90, "prod": 120}
MOST_MEMORY_GIB = 6.0
SAMPLE_S = 3.0
"""Reading the shares of its pages stops a process for a while."""


def measure(environment: str) -> Rehearsed:
    """Rehearse an environment once; raises RuntimeError with its problems where it fails."""
    command = [str(Path(sys.executable).with_name("fleet")), "rehearse", environment, "--json"]
    started = time.perf_counter()
    with TemporaryFile("w+", encoding="utf-8") as answer:
        with subprocess.Popen(
            command, cwd=ROOT, stdout=answer, stderr=subprocess.DEVNULL
        ) as process:
            peak_bytes = _watch(process)
        total_s = time.perf_counter() - started
        answer.seek(0)
        report = json.load(answer)
    if process.returncode:
        raise RuntimeError(f"The rehearsal of {environment} failed: {report['problems']}")
    return Rehearsed(
        environment=environment,
        phases_s={phase["name"]: phase["seconds"] for phase in report["phases"]},
        total_s=total_s,
        peak_memory_gib=peak_bytes / 2**30,
        most_s=MOST_S[environment],
        most_memory_gib=MOST_MEMORY_GIB,
    )


def _watch(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end; return the most bytes that the command and its children used at once."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory_of(process.pid))
        time.sleep(SAMPLE_S)
    return peak


def memory_of(pid: int) -> int:
    """Return the memory of a process and its children in bytes; 0 once it has ended."""
    try:
        leader = psutil.Process(pid)
        return sum(map(_memory_bytes, [leader, *leader.children(recursive=True)]))
    except psutil.NoSuchProcess:
        return 0


def _memory_bytes(process: psutil.Process) -> int:
    """Return the memory of a process in bytes, with its share of shared pages where known."""
    try:
        memory = process.memory_full_info()
    except psutil.Error:  # it has just ended
        return 0
    return int(getattr(memory, "pss", memory.rss))
