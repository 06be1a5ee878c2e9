"""Starts the jobs in the twin, and takes them away when the change is over."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.api import Api, ApiServerError
from rehearsal.moves.jobs import RunningJob
from rehearsal.nodes import NODES

PODS = "/api/v1/pods"
DEADLINE_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Started:
    """The jobs that run, and a sentence for each that does not."""

    jobs: tuple[RunningJob, ...]
    not_running: tuple[str, ...]


def start(api: Api, jobs: Sequence[RunningJob], watch: Callable[[], None]) -> Started:
    """Make the jobs and wait until their pods run; `watch` is called meanwhile."""
    refused: dict[str, str] = {}
    nodes = {node["metadata"]["name"] for node in api.items(NODES)}
    for job in jobs:
        if problem := _make(api, job, nodes):
            refused[job.name] = problem
    made = [job for job in jobs if job.name not in refused]
    late = _wait(api, made, watch)
    return Started(
        jobs=tuple(job for job in made if job.name not in late),
        not_running=tuple(f"{name}: {why}" for name, why in (refused | late).items()),
    )


def take_away(api: Api, jobs: Sequence[RunningJob]) -> None:
    """Delete the jobs, so that their GPUs are free."""
    for job in jobs:
        api.delete(job.path, dependents="Background")


def job_of(pod: Mapping[str, Any]) -> str:
    """Return namespace and name of the Job that a pod is of, or the pod's own."""
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or []
    owner = next((each["name"] for each in owners if each.get("controller")), metadata["name"])
    return f"{metadata['namespace']}/{owner}"


def _make(api: Api, job: RunningJob, nodes: set[str]) -> str | None:
    """Make a job; return why it cannot be made."""
    if job.node is not None and job.node not in nodes:
        return f"it runs on {job.node}, which the twin does not have."
    try:
        api.create(job.collection, job.manifest)
        if job.node is not None:
            target = {"apiVersion": "v1", "kind": "Node", "name": job.node}
            binding = {"apiVersion": "v1", "kind": "Binding", "target": target}
            named = {"metadata": {"name": job.manifest["metadata"]["name"]}}
            api.create(f"{job.path}/binding", {**binding, **named})
    except ApiServerError as error:
        return str(error)
    return None


def _wait(api: Api, jobs: Sequence[RunningJob], watch: Callable[[], None]) -> dict[str, str]:
    """Wait until each job has a running pod; return the reasons of those that have none."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        watch()
        pods = api.items(PODS)
        running = {job_of(pod) for pod in pods if pod["status"].get("phase") == "Running"}
        waiting = [job.name for job in jobs if job.name not in running]
        if not waiting or time.monotonic() > deadline:
            said = {job_of(pod): _why(pod) for pod in pods}
            return {name: said.get(name, "no pod was made of it.") for name in waiting}
        time.sleep(0.1)


def _why(pod: Mapping[str, Any]) -> str:
    for condition in pod["status"].get("conditions", []):
        if condition["status"] == "False" and condition.get("message"):
            return str(condition["message"])
    return f"its pod is {pod['status'].get('phase', 'of no phase')}."
