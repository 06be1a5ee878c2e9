"""Starts the jobs in the twin, and takes them away when the change is over."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.api import Api, ApiServerError
from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.stays import at_age
from rehearsal.nodes import NODES

PODS = "/api/v1/pods"
NOBODY = "fleet-rehearsal"
"""The scheduler of pods that are put on their machine: none of this name runs."""
OVER = ("Failed", "Aborted", "Terminated")
"""The phases in which a Job of Volcano has no pods and makes none."""
DEADLINE_S = 60.0
"""So long after the last pod that started, or machine that came, no other job is waited for."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """The jobs that run, and a sentence for each that does not."""

    jobs: tuple[RunningJob, ...]
    not_running: tuple[str, ...]

    def __add__(self, other: "Started") -> "Started":
        """Both."""
        return Started(
            jobs=(*self.jobs, *other.jobs), not_running=(*self.not_running, *other.not_running)
        )


def start(api: Api, jobs: Sequence[RunningJob], watch: Callable[[], None]) -> Started:
    """Make the jobs and wait until their pods run; `watch` is called meanwhile.

    What has a machine goes first, then the jobs by the size of their pods: what fills whole
    machines of a full pool would find none behind smaller pods.
    """
    waves: dict[tuple[bool, int], list[RunningJob]] = defaultdict(list)
    for job in jobs:
        waves[job.node is None, -job.gpus_of_a_pod].append(job)
    started = Started(jobs=(), not_running=())
    for _, wave in sorted(waves.items(), key=lambda each: each[0]):
        started += _start(api, wave, watch)
    return started


def _start(api: Api, jobs: Sequence[RunningJob], watch: Callable[[], None]) -> Started:
    """Start jobs; what does not run is taken away, so that no machine comes for it later."""
    refused: dict[str, str] = {}
    nodes = {node["metadata"]["name"] for node in api.items(NODES)}
    for job in jobs:
        if problem := _make(api, job, nodes):
            refused[job.name] = problem
    made = [job for job in jobs if job.name not in refused]
    late = _wait(api, made, watch)
    take_away(api, [job for job in made if job.name in late])
    return Started(
        jobs=tuple(job for job in made if job.name not in late),
        not_running=tuple(f"{name}: {why}" for name, why in (refused | late).items()),
    )


def take_away(api: Api, jobs: Sequence[RunningJob]) -> None:
    """Delete the jobs, so that their GPUs are free."""
    for job in jobs:
        api.delete(job.path, dependents="Background")


def used_nodes(api: Api, jobs: Sequence[RunningJob]) -> set[str]:
    """Return the machines on which pods of the jobs are."""
    names = {job.name for job in jobs}
    return {str(pod["spec"].get("nodeName")) for pod in api.items(PODS) if job_of(pod) in names}


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
    manifest = at_age(job.manifest, job.hours)
    if job.node is not None:
        manifest["spec"] = {**manifest["spec"], "schedulerName": NOBODY}
    try:
        if not api.create(job.collection, manifest):
            return "the twin has one of this name already."
    except ApiServerError as error:
        return str(error)
    return None if job.node is None else _bind(api, job, job.node)


def _bind(api: Api, job: RunningJob, node: str) -> str | None:
    """Put a pod on its machine; return why it is not there, and then it is taken away.

    In the namespace of a queue Volcano's webhook has named its own scheduler, which may be first.
    """
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "target": target}
    named = {"metadata": {"name": job.manifest["metadata"]["name"]}}
    try:
        if api.create(f"{job.path}/binding", {**binding, **named}):
            return None
    except ApiServerError as error:
        why = str(error)
    else:
        found = (api.get(job.path) or {}).get("spec") or {}
        if found.get("nodeName") == node:
            return None
        why = f"it runs on {node}, and the twin's scheduler has put it on {found.get('nodeName')}."
    take_away(api, [job])
    return why


def _wait(api: Api, jobs: Sequence[RunningJob], watch: Callable[[], None]) -> dict[str, str]:
    """Wait until the pods of each job run; return the reasons of those that do not."""
    began, last = time.monotonic(), None
    while True:
        watch()
        pods = api.items(PODS)
        running = Counter(job_of(pod) for pod in pods if pod["status"].get("phase") == "Running")
        late = [job for job in jobs if running[job.name] < job.needs]
        failed = {job_of(pod) for pod in pods if pod["status"].get("phase") == "Failed"}
        waiting = [job for job in late if job.name not in failed or not _is_over(api, job)]
        there = (running.total(), len(api.items(NODES)))
        began, last = (time.monotonic(), there) if there != last else (began, last)
        if not waiting or time.monotonic() > began + DEADLINE_S:
            said = {job_of(pod): _why(pod) for pod in pods if pod["status"]["phase"] != "Running"}
            return {job.name: said.get(job.name, "no pod was made of it.") for job in late}
        time.sleep(0.2)


def _is_over(api: Api, job: RunningJob) -> bool:
    """Return whether nothing makes another pod in place of one that failed."""
    if job.node is not None:
        return True
    status = (api.get(job.path) or {}).get("status") or {}
    if job.is_gang:
        return (status.get("state") or {}).get("phase") in OVER
    return any(
        each["type"] == "Failed" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )


def _why(pod: Mapping[str, Any]) -> str:
    """Return what a kubelet or a scheduler says of a pod that does not run."""
    if reason := pod["status"].get("reason"):
        return f"{reason}: {pod['status'].get('message', '')}"
    for condition in pod["status"].get("conditions", []):
        if condition["status"] == "False" and condition.get("message"):
            return str(condition["message"])
    return f"its pod is {pod['status'].get('phase', 'of no phase')}."
