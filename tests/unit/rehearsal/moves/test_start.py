"""Jobs are started in the twin: the large ones first, and what does not start is taken away."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, cast

import pytest

from rehearsal.api import Api
from rehearsal.moves import start as starting
from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.start import start, used_nodes

NODE = {"metadata": {"name": "dgx-01"}}


@dataclass
class FakeApi:
    """A cluster in which each pod of a job runs at once, but those of `stuck`."""

    stuck: str = ""
    refused: str = ""
    status: dict[str, Any] = field(default_factory=dict)
    pods: list[dict[str, Any]] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.pods if path == starting.PODS else [NODE]

    def get(self, path: str) -> dict[str, Any]:
        return self.status

    def create(self, path: str, manifest: dict[str, Any]) -> bool:
        name = manifest["metadata"]["name"]
        if path.endswith("/binding"):
            return True
        self.made.append(name)
        number = sum(task["replicas"] for task in manifest["spec"].get("tasks", ())) or 1
        self.pods += [self._pod(name, manifest["kind"], rank) for rank in range(number)]
        return True

    def delete(self, path: str, *, dependents: str) -> None:
        assert dependents == "Background"
        self.deleted.append(path)

    def _pod(self, job: str, kind: str, rank: int) -> dict[str, Any]:
        waits = job == self.stuck and rank == 1
        why = {"type": "PodScheduled", "status": "False", "message": "2 Insufficient GPUs."}
        status: dict[str, Any] = (
            {"phase": "Pending", "conditions": [why]} if waits else {"phase": "Running"}
        )
        if job == self.refused:
            status = {"phase": "Failed", "reason": "SMTAlignmentError", "message": "half a core"}
        metadata: dict[str, Any] = {"name": f"{job}-{rank}" if kind == "Job" else job}
        metadata["namespace"] = "research"
        if kind == "Job":
            metadata["ownerReferences"] = [{"kind": kind, "name": job, "controller": True}]
        return {"metadata": metadata, "spec": {"nodeName": "dgx-01"}, "status": status}


def gang(name: str, gpus: int) -> RunningJob:
    containers = [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]
    task = {"replicas": 2, "template": {"spec": {"containers": containers}}}
    manifest = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "research"},
        "spec": {"tasks": [task]},
    }
    return RunningJob(manifest=manifest, hours=1.0)


def pod(name: str) -> RunningJob:
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "research"},
        "spec": {"containers": []},
    }
    return RunningJob(manifest=manifest, hours=1.0, node="dgx-01")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "DEADLINE_S", 0.0)


def test_what_has_its_machine_goes_first_and_then_the_largest_pods() -> None:
    api = FakeApi()
    jobs = [gang("half", 4), gang("whole", 8), pod("alone")]
    started = start(cast("Api", api), jobs, lambda: None)
    assert api.made == ["alone", "whole", "half"]
    assert {job.name for job in started.jobs} == {
        *("research/half", "research/whole", "research/alone")
    }
    assert (started.not_running, api.deleted) == ((), [])
    assert used_nodes(cast("Api", api), started.jobs) == {"dgx-01"}


def test_a_gang_of_which_one_pod_waits_does_not_run_and_is_taken_away() -> None:
    api = FakeApi(stuck="whole")
    started = start(cast("Api", api), [gang("half", 4), gang("whole", 8)], lambda: None)
    assert [job.name for job in started.jobs] == ["research/half"]
    assert started.not_running == ("research/whole: 2 Insufficient GPUs.",)
    assert api.deleted == [gang("whole", 8).path]


def job(name: str) -> RunningJob:
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "research"},
        "spec": {"template": {"spec": {"containers": []}}},
    }
    return RunningJob(manifest=manifest, hours=1.0)


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        (pod("alone"), {}),
        (job("alone"), {"conditions": [{"type": "Failed", "status": "True"}]}),
        (gang("alone", 8), {"state": {"phase": "Aborted"}}),
    ],
)
def test_what_no_kubelet_takes_is_not_waited_for_and_has_the_kubelets_words(
    monkeypatch: pytest.MonkeyPatch, refused: RunningJob, status: dict[str, Any]
) -> None:
    monkeypatch.setattr(starting, "DEADLINE_S", inf)
    monkeypatch.setattr("time.sleep", lambda _seconds: pytest.fail("it waits"))
    api = FakeApi(refused="alone", status={"status": status})
    started = start(cast("Api", api), [refused], lambda: None)
    assert started.not_running == ("research/alone: SMTAlignmentError: half a core",)
