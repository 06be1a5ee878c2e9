"""Pods a second in the twin's cluster against a bare one with Kubernetes' own scheduler.

The jobs and the machines are the same. A bare cluster has etcd, API server, controller manager,
scheduler and a kwok that runs what is bound.
"""

import time

from benchmarks.hall import GPUS, JOBS, Hall, hall, job
from benchmarks.placing import Pods, Worked
from toolchain.build import Tools

MACHINES = 50


def measure(tools: Tools, *, machines: int) -> Pods:
    """Run as many jobs as there are GPUs in a bare cluster, then in the twin's."""
    worked = {}
    for volcano in (False, True):
        with hall(tools, machines=machines, volcano=volcano) as cluster:
            worked[volcano] = _run(cluster, machines * GPUS)
    return Pods(machines=machines, bare=worked[False], twin=worked[True])


def _run(cluster: Hall, pods: int) -> Worked:
    cpu_s, requests = cluster.cpu_s(), cluster.requests()
    started = time.perf_counter()
    cluster.create(JOBS, [job(number, cluster.scheduler) for number in range(pods)])
    cluster.until_running(pods)
    return Worked(
        pods=pods,
        seconds=time.perf_counter() - started,
        cpu_s={name: after - cpu_s.get(name, 0) for name, after in cluster.cpu_s().items()},
        requests=cluster.requests() - requests,
    )
