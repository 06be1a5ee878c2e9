"""Jobs are started in the twin: the large ones first, and what does not start is taken away."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, cast

import pytest

from rehearsal.api import Api, ApiServerError
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
    manifests: list[dict[str, Any]] = field(default_factory=list)
    bound_first: str = ""
    """The machine on which a scheduler has put pods before they are bound."""
    binding_fails: bool = False

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.pods if path == starting.PODS else [NODE]

    def get(self, path: str) -> dict[str, Any]:
        return {"spec": {"nodeName": self.bound_first}} if self.bound_first else self.status

    def create(self, path: str, manifest: dict[str, Any]) -> bool:
        name = manifest["metadata"]["name"]
        if path.endswith("/binding"):
            if self.binding_fails:
                raise ApiServerError(500, "InternalError", "etcd is busy")
            return not self.bound_first
        self.manifests.append(manifest)
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


def test_no_scheduler_of_the_twin_is_asked_for_a_pod_that_has_its_machine() -> None:
    api = FakeApi()
    start(cast("Api", api), [pod("alone"), job("placed")], lambda: None)
    alone, placed = api.manifests
    assert alone["spec"]["schedulerName"] == "fleet-rehearsal"
    assert "schedulerName" not in placed["spec"]


def test_a_pod_that_a_scheduler_has_put_elsewhere_does_not_run_and_is_taken_away() -> None:
    api = FakeApi(bound_first="dgx-07")
    started = start(cast("Api", api), [pod("alone")], lambda: None)
    (said,) = started.not_running
    assert said == (
        "research/alone: it runs on dgx-01, and the twin's scheduler has put it on dgx-07."
    )
    assert (started.jobs, api.deleted) == ((), [pod("alone").path])
    same = start(cast("Api", FakeApi(bound_first="dgx-01")), [pod("alone")], lambda: None)
    assert same.not_running == (), "it is where it should be"


def test_a_pod_that_cannot_be_put_on_its_machine_is_taken_away() -> None:
    api = FakeApi(binding_fails=True)
    started = start(cast("Api", api), [pod("alone")], lambda: None)
    assert started.not_running == ("research/alone: etcd is busy",)
    assert api.deleted == [pod("alone").path]


@pytest.mark.parametrize(
    ("value", "hours", "kept"),
    [
        ("true", 100.0, True),
        ("12h", 11.9, True),
        ("12h", 12.0, False),
        ("5m", 1.0, False),
        ("1h30m", 1.4, True),
        ("-5m", 0.0, False),
        ("soon", 0.0, False),
    ],
)
def test_a_duration_of_do_not_disrupt_counts_from_the_jobs_own_age(
    value: str, hours: float, kept: bool
) -> None:
    stays = "karpenter.sh/do-not-disrupt"
    noted = {"metadata": {"annotations": {stays: value}}, "spec": {"containers": []}}
    asked = gang("train", 8).manifest
    tasks = [{"replicas": 1, "template": noted}]
    of_gang = {**asked, "spec": {"tasks": tasks}}
    of_job = {**job("plain").manifest, "spec": {"template": noted}}
    api = FakeApi()
    jobs = [RunningJob(manifest=each, hours=hours) for each in (of_gang, of_job)]
    start(cast("Api", api), jobs, lambda: None)
    made = {each["metadata"]["name"]: each["spec"] for each in api.manifests}
    for template in (made["train"]["tasks"][0]["template"], made["plain"]["template"]):
        assert template["metadata"]["annotations"] == ({stays: "true"} if kept else {})
