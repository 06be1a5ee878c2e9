"""What the figures were measured on, without its name or anything else that tells whose it is."""

import os
import platform
from dataclasses import dataclass

import psutil

LINUX = hasattr(os, "sched_getaffinity")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The part of a machine that decides how long something takes."""

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
    """Returns what this process may use; a container's share counts, not its host's."""
    return Machine(
        cpus=len(os.sched_getaffinity(0)) if LINUX else os.cpu_count() or 1,
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        architecture=platform.machine(),
        python=platform.python_version(),
    )
