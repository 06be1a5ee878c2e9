"""The Job that proves that the fleet schedules."""

from typing import Any, cast

import pytest
import yaml

from rehearsal import job
from rehearsal.api import Api
from rehearsal.errors import RehearsalError
from tests.support.rehearsal import fleets


class FakeApi:
    """A cluster with one answer for every Job and every pod."""

    def __init__(self, *, conditions: dict[str, str], pod: dict[str, Any]) -> None:
        self.made: list[dict[str, Any]] = []
        self.job = {
            "status": {
                "conditions": [
                    {"type": name, "status": "True", "message": message}
                    for name, message in conditions.items()
                ]
            }
        }
        self.pod = pod

    def create(self, _path: str, body: dict[str, Any]) -> bool:
        self.made.append(body)
        return True

    def get(self, _path: str) -> dict[str, Any]:
        return self.job

    def items(self, _path: str, **_query: str) -> list[dict[str, Any]]:
        return [{**self.pod, "spec": {**self.made[-1]["spec"]["template"]["spec"], **self.pod}}]


def run(api: FakeApi) -> job.JobRun | None:
    return job.run(cast("Api", api), fleets.dev().nodes, lambda: None)


def test_the_job_is_sent_to_a_machine_of_ours_and_its_node_is_told() -> None:
    api = FakeApi(conditions={"Complete": ""}, pod={"nodeName": "dgx-2", "status": {}})
    found = run(api)
    assert found
    assert (found.node, found.hardware, found.gpus) == ("dgx-2", "dgx-h200", 1)
    template = api.made[0]["spec"]["template"]["spec"]
    assert template["nodeSelector"] == {"fleet.gpu/hardware": "dgx-h200"}


def test_a_job_that_ran_elsewhere_proves_nothing() -> None:
    api = FakeApi(conditions={"Complete": ""}, pod={"nodeName": "cpu-1", "status": {}})
    with pytest.raises(RehearsalError, match="cpu-1, which is no GPU machine of yours"):
        run(api)


def test_a_job_that_cannot_be_placed_fails_with_the_schedulers_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job, "UNSCHEDULABLE_AFTER_S", 0)
    said = "0/5 nodes are available: 5 Insufficient nvidia.com/gpu."
    refusal = {"type": "PodScheduled", "status": "False", "message": said}
    api = FakeApi(conditions={}, pod={"status": {"conditions": [refusal]}})
    with pytest.raises(RehearsalError, match="cannot be scheduled: 0/5 nodes are available"):
        run(api)


def test_a_job_that_fails_says_why() -> None:
    api = FakeApi(conditions={"Failed": "Job has reached the backoff limit"}, pod={"status": {}})
    with pytest.raises(RehearsalError, match="Job smoke-one-gpu failed: Job has reached"):
        run(api)


def test_a_server_that_ends_ends_the_wait_for_the_job() -> None:
    def watch() -> None:
        raise RehearsalError("kwok was killed by signal 9.")

    api = FakeApi(conditions={}, pod={"status": {}})
    with pytest.raises(RehearsalError, match="kwok was killed"):
        job.run(cast("Api", api), fleets.dev().nodes, watch)


def test_an_environment_without_gpu_machines_runs_no_job() -> None:
    cpu = [node for node in fleets.dev().nodes if not node.hardware.gpus]
    assert job.run(cast("Api", None), cpu, lambda: None) is None


def test_the_kubelet_can_give_the_job_cpus_and_gpus_of_one_numa_node() -> None:
    """Only a Guaranteed pod with whole CPUs gets them for itself."""
    (container,) = yaml.safe_load(job.MANIFEST.read_text())["spec"]["template"]["spec"][
        "containers"
    ]
    resources = container["resources"]
    assert resources["requests"] == resources["limits"]
    assert int(resources["limits"]["cpu"]) > 0
    assert resources["limits"]["nvidia.com/gpu"] == str(job.GPUS)


def test_a_job_whose_pod_a_kubelet_refused_says_kubelets_reason() -> None:
    refused = {
        "phase": "Failed",
        "reason": "TopologyAffinityError",
        "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
    }
    failed = {"Failed": "Job has reached the backoff limit"}
    api = FakeApi(conditions=failed, pod={"status": refused})
    with pytest.raises(
        RehearsalError, match="smoke-one-gpu failed: TopologyAffinityError: Pod was reject"
    ):
        run(api)


CONFIG = """
resourceGroups:
- {resourceGroup: any, object: {key: namespace, value: [anywhere]}, schedulerName: volcano}
- resourceGroup: dgx
  object: {key: namespace, value: [a-small-one, research]}
  schedulerName: volcano
  labels: {fleet.gpu/pool: dgx}
"""


class QueuedApi(FakeApi):
    """The cluster of a fleet whose teams have queues."""

    def __init__(self, **gpus: int) -> None:
        super().__init__(conditions={"Complete": ""}, pod={"nodeName": "dgx-1", "status": {}})
        self.gpus = gpus
        self.paths: list[str] = []

    def create(self, path: str, body: dict[str, Any]) -> bool:
        self.paths.append(path)
        return super().create(path, body)

    def get(self, path: str) -> dict[str, Any]:
        _, _, name = path.rpartition("/")
        if path == job.ADMISSION_CONFIG:
            return {"data": {"volcano-admission.conf": CONFIG}}
        if path.startswith(job.QUEUES):
            return {"spec": {"capability": {"nvidia.com/gpu": str(self.gpus.get(name, 0))}}}
        if path == f"/api/v1/namespaces/{name}":
            return {"metadata": {"labels": {"fleet.gpu/team": "quants", "a": "b"}}}
        return super().get(path)


def test_the_job_runs_in_a_queue_of_the_pool_as_a_job_of_its_team() -> None:
    api = QueuedApi(**{"a-small-one": 0, "research": 16, "anywhere": 8})
    found = run(api)
    assert found
    assert found.queue == "research", "the first of the pool that has room for it"
    assert api.paths == ["/apis/batch/v1/namespaces/research/jobs"]
    labels = api.made[0]["spec"]["template"]["metadata"]["labels"]
    assert (labels["fleet.gpu/team"], labels["fleet.gpu/project"]) == ("quants", "acceptance")
    assert "a" not in labels


def test_a_queue_of_any_pool_will_do_and_none_too() -> None:
    found = run(QueuedApi(anywhere=8))
    assert found
    assert found.queue == "anywhere"
    api = QueuedApi()
    found = run(api)
    assert found
    assert (found.queue, api.paths) == ("", ["/apis/batch/v1/namespaces/default/jobs"])
