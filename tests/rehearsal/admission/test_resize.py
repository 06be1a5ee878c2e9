"""A pod that runs is judged again when somebody gives it other CPUs where it runs."""

from collections.abc import Iterator

import pytest

from policies.rules.numa import guaranteed_qos as numa_guaranteed_qos
from tests.support.admission.objects import GPU, gpus, pod
from tests.support.admission.server import Answer, Server
from tests.support.admission.verdicts import deny

RUNS = pod(gpus())


@pytest.fixture(scope="module")
def denying(server: Server) -> Iterator[Server]:
    deny(server, [numa_guaranteed_qos.RULE])
    server.made(RUNS)
    yield server
    server.ask("DELETE", server.place(RUNS), gracePeriodSeconds="0")


def resized(server: Server, cpus: str) -> Answer:
    amounts = {GPU: "1", "cpu": cpus, "memory": "64Gi"}
    container = {**gpus(), "resources": {"limits": amounts, "requests": amounts}}
    patch = {"spec": {"containers": [container]}}
    return server.ask("PATCH", server.place(RUNS, "/resize"), patch, dryRun="All")


def test_a_resize_to_half_a_cpu_is_refused_and_one_to_whole_ones_taken(denying: Server) -> None:
    refused = resized(denying, "7500m")

    assert not refused.taken
    assert refused.message.endswith("must have a whole number of CPUs in limits.cpu.")
    assert resized(denying, "6").taken
