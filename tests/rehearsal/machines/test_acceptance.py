"""`fleet reinstall` measures a machine on a real API server: Jobs on a cordoned node, and verdicts.

kwok ends the pods of Jobs and prints nothing, so the logs here are those of a sound DGX H200.
"""

from collections.abc import Callable
from typing import Any

import pytest
from lightkube import Client

from fleet.reinstall import acceptance
from fleet.reinstall.acceptance import Acceptance
from fleet.reinstall.target import ReinstallError
from hardware.catalogue import load
from kube import nodes
from kube.client import client
from tests.support.rehearsal.hall import Hall
from tests.support.workloads.acceptance_logs import ACCEPTED, gemm

NODE = "dgx-01"
JOBS = "/apis/batch/v1/namespaces/fleet-acceptance/jobs"
SETS = "/apis/apps/v1/namespaces/fleet-acceptance/daemonsets"

Measure = Callable[[], list[str]]


@pytest.fixture
def measure(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """Measures a cordoned node and returns what was told."""
    monkeypatch.setattr(acceptance, "POLL_S", 0.2)
    hall.add_node(NODE, unschedulable=True)

    def call() -> list[str]:
        told: list[str] = []
        Acceptance(
            client=client(hall.kubeconfig),
            node=NODE,
            hardware=load("dgx-h200"),
            tell=told.append,
        ).run()
        return told

    return call


def left(hall: Hall) -> list[str]:
    found = [*hall.api.items(JOBS), *hall.api.items(SETS)]
    return sorted(each["metadata"]["name"] for each in found)


def with_logs(monkeypatch: pytest.MonkeyPatch, **changed: str) -> None:
    """Give each pod a log as if a kubelet showed it."""
    logs = {**ACCEPTED, **{name.replace("_", "-"): text for name, text in changed.items()}}

    def log(_client: Client, name: str, **_options: Any) -> list[str]:
        (found,) = (text for key, text in logs.items() if name.startswith(f"{key}-{NODE}"))
        return found.splitlines(keepends=True)

    monkeypatch.setattr(Client, "log", log)
    monkeypatch.setattr(nodes, "is_simulated", lambda _node: False)


def test_a_sound_machine_is_accepted_on_its_cordoned_node_and_nothing_stays(
    hall: Hall, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_logs(monkeypatch)
    told = measure()
    assert told[0] == "measuring it: nccl, gemm-pod, gemm-host, tuned and its NUMA nodes"
    assert told[-1].startswith("accepted: all_reduce over 8 GPUs reached 477.0 GB/s")
    hall.until(lambda: left(hall) == [], "the measurements are gone")


def test_a_slow_machine_is_refused_with_its_figures_and_measured_anew_the_next_time(
    hall: Hall, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_logs(monkeypatch, gemm_pod=gemm(*[500.0] * 8), nccl="")
    with pytest.raises(ReinstallError) as caught:
        measure()
    assert str(caught.value).startswith(
        "dgx-01 was not accepted: the log of all_reduce_perf has no result: it failed before the "
        "first; a matrix product runs at 500 TFLOP/s in a pod and 700 on the host"
    )
    assert "nccl-dgx-01" in left(hall), "somebody may read the logs"

    with_logs(monkeypatch)
    before = {each["metadata"]["uid"] for each in hall.api.items(JOBS)}
    seen: set[str] = set()

    def judged(_self: Acceptance) -> str:
        seen.update(each["metadata"]["uid"] for each in hall.api.items(JOBS))
        return "accepted"

    monkeypatch.setattr(Acceptance, "_judged", judged)
    measure()
    assert len(seen) == 4
    assert not seen & before, "no verdict is about an earlier measurement"


def test_a_simulated_machine_runs_the_measurements_and_has_no_results(
    hall: Hall, measure: Measure
) -> None:
    told = measure()
    assert told[-1] == "its machine is simulated: the measurements have ended and have no results"
    hall.until(lambda: left(hall) == [], "the measurements are gone")
