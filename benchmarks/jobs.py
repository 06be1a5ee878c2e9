"""As many one-GPU jobs as fill many owned machines, by Volcano as the fleet ships it."""

import time

from benchmarks.hall import GPUS, JOBS, hall, job
from benchmarks.placing import Placed
from toolchain.build import Tools

MACHINES = 500
ELSEWHERE_S = 398.0


def measure(tools: Tools, *, machines: int) -> Placed:
    """Create the jobs and wait until all their pods run."""
    pods = machines * GPUS
    with hall(tools, machines=machines, volcano=True) as cluster:
        started = time.perf_counter()
        cluster.create(JOBS, [job(number, cluster.scheduler) for number in range(pods)])
        peak_gib = cluster.until_running(pods)
        return Placed(
            what=f"{pods} one-GPU jobs",
            machines=machines,
            pods=pods,
            seconds=time.perf_counter() - started,
            peak_memory_gib=peak_gib,
            memory_gib=cluster.memory_gib(),
            elsewhere_s=ELSEWHERE_S if machines == MACHINES else None,
        )
