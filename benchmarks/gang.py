"""A gang of one-GPU pods on many owned machines, by Volcano as the fleet ships it."""

import time

from benchmarks.hall import GANGS, GPUS, QUEUE, hall, pod_template
from benchmarks.placing import Placed
from toolchain.build import Tools

MACHINES, PODS = 500, 512
ELSEWHERE_S = 48.7


def measure(tools: Tools, *, machines: int) -> Placed:
    """Start one gang and wait until all of it runs."""
    pods = min(PODS, machines * GPUS)
    with hall(tools, machines=machines, volcano=True) as cluster:
        template = pod_template(cluster.scheduler)
        task = {"name": "rank", "replicas": pods, "template": template}
        spec = {"queue": QUEUE, "minAvailable": pods, "tasks": [task]}
        gang = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "gang"},
            "spec": spec,
        }
        started = time.perf_counter()
        cluster.create(GANGS, [gang])
        peak_gib = cluster.until_running(pods)
        return Placed(
            what=f"a gang of {pods} one-GPU pods",
            machines=machines,
            pods=pods,
            seconds=time.perf_counter() - started,
            peak_memory_gib=peak_gib,
            memory_gib=cluster.memory_gib(),
            elsewhere_s=ELSEWHERE_S if pods == PODS else None,
        )
