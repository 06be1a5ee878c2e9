"""A control plane alone: jobs that are started, watched, waited for and ended."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rehearsal.api import Api
from rehearsal.control_plane import Launcher
from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.lost import ended_jobs
from rehearsal.moves.machines import machine_moves
from rehearsal.moves.start import start, take_away
from rehearsal.moves.waited import DrainedJobs
from rehearsal.moves.watch import Watch
from rehearsal.nodes import MERGE, NODES, wait_until_ready

DEADLINE_S = 60.0
PODS = "/api/v1/namespaces/default/pods"
CONTAINER = {"name": "main", "image": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}


@pytest.fixture
def api(launcher: Launcher) -> Iterator[Api]:
    found = launcher.launch(service_cidr="10.15.0.0/16", pod_cidr="10.14.0.0/16").api
    until(lambda: found.get("/api/v1/namespaces/default/serviceaccounts/default"))
    yield found
    found.close()


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def add_node(api: Api, name: str, provider_id: str = "") -> None:
    gpus = {"nvidia.com/gpu": "8", "pods": "10"}
    labels = {"fleet.gpu/pool": "dgx", "fleet.gpu/hardware": "dgx-h200"}
    annotations = {"kwok.x-k8s.io/node": "fake"}
    manifest = {
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"providerID": provider_id or f"metal3://{name}"},
        "status": {"capacity": gpus, "allocatable": gpus},
    }
    assert api.create(NODES, manifest)
    assert not wait_until_ready(api, [name], lambda _ready, _of: None)


def job(name: str) -> RunningJob:
    template = {
        "metadata": {"annotations": {"fleet.gpu/runs-for": "24h"}},
        "spec": {"restartPolicy": "Never", "containers": [CONTAINER]},
    }
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template},
    }
    return RunningJob(manifest=manifest, hours=2.0)


def pod(name: str, on: str) -> RunningJob:
    manifest: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": "volcano", "containers": [CONTAINER]},
    }
    return RunningJob(manifest=manifest, hours=1.0, node=on)


def node_of(api: Api, job_name: str) -> str:
    found = api.items(PODS, labelSelector=f"batch.kubernetes.io/job-name={job_name}")
    return next(str(p["spec"]["nodeName"]) for p in found if p["status"]["phase"] == "Running")


def test_jobs_are_started_watched_waited_for_and_ended(api: Api) -> None:
    for name in ("a", "b", "c"):
        add_node(api, name)
    jobs = [pod("gang-0", "b"), pod("burst-0", "p5e-1"), job("drained"), job("lost")]
    started = start(api, jobs, lambda: None)
    assert {each.name for each in started.jobs} == {
        *("default/gang-0", "default/drained", "default/lost")
    }
    assert started.not_running == (
        "default/burst-0: it runs on p5e-1, which the twin does not have.",
    )

    watch = Watch(api)
    watch.start()
    drained = DrainedJobs(api, watch)
    drained.start()
    cordoned, dead = node_of(api, "drained"), node_of(api, "lost")
    api.request("PATCH", f"{NODES}/{cordoned}", {"spec": {"unschedulable": True}}, headers=MERGE)
    until(lambda: drained.waited)
    api.delete(f"{NODES}/{dead}", dependents="Background")
    add_node(api, dead, "metal3://another")

    def found() -> dict[str, tuple[str, ...]]:
        return {each.name: each.again_on for each in ended_jobs(watch.seen, started.jobs)}

    until(lambda: "default/lost" in found())
    until(lambda: ("replaced", dead) in [(m.what, m.name) for m in machine_moves(watch.seen)])
    drained.stop()
    watch.stop()
    assert [each.job for each in drained.waited] == ["default/drained"]
    assert found() == {"default/lost": ()}, "who is waited for has ended well"
    moves = [(move.name, move.what) for move in machine_moves(watch.seen)]
    assert moves == [(cordoned, "drained"), (dead, "replaced")]
    complete = api.get("/apis/batch/v1/namespaces/default/jobs/drained")
    assert complete
    assert complete["status"]["succeeded"] == 1
    take_away(api, started.jobs)
    until(lambda: not [p for p in api.items(PODS) if "burst" not in p["metadata"]["name"]])
