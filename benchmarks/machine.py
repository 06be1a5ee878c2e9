"""Describes the machine of a run, without its name or owner."""

import os
import platform
from dataclasses import dataclass

import psutil

LINUX = hasattr(os, "sched_getaffinity")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The properties of a machine that decide how long something takes."""

    cpus: int
    memory_gib: float
    architecture: str
    python: str

    def __str__(self) -> str:
        return (
            f"{self.cpus} CPUs ({self.architecture}), {self.memory_gib:.0f} GiB memory, "
            f"Python {self.python}"
        )


def this_machine() -> Machine:
    """Return what this process may use: the CPUs of its container, not those of the host."""
    return Machine(
        cpus=len(os.sched_getaffinity(0)) if LINUX else os.cpu_count() or 1,
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        architecture=platform.machine(),
        python=platform.python_version(),
    )
