"""Volcano's programs as its Release starts them, with two machines and the queue of a team."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.queue_entry import QueueEntry, QueueEntryArgs
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from rehearsal.api import Api, ApiServerError
from rehearsal.control_plane import Launcher, Programs
from rehearsal.controllers.controller import Controllers
from rehearsal.controllers.ours import start_ours
from rehearsal.processes import Processes
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.values import Secret
from rehearsal.twin import controller_programs
from settings import Queue, Team
from settings.names import RELEASE
from tests.conftest import ROOT
from tests.support.rehearsal.provider_engine import FakeEngine, Made, engine, made_of
from tests.support.rehearsal.volcano import machine, wait
from toolchain.build import ensure

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/research/jobs"
PODS = "/api/v1/namespaces/research/pods"
WHOLE = {"cpu": "16", "nvidia.com/gpu": "8"}


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The cluster, and the engine that made the Release."""

    api: Api
    engine: FakeEngine
    release: Made
    place: Controllers

    def gang(self, name: str, members: int, **spec: object) -> None:
        """Creates a job whose members take a machine each and run until they are ended."""
        self.api.request("POST", JOBS, gang(name, members, **spec))

    def refusal(self, path: str, body: object) -> str:
        """Why the server refuses a request; empty where it takes it."""
        try:
            self.api.request("POST", path, body, query={"dryRun": "All"})
        except ApiServerError as error:
            return str(error)
        return ""

    def pods(self, job: str) -> list[dict[str, Any]]:
        return self.api.items(PODS, labelSelector=f"volcano.sh/job-name={job}")

    def running(self, job: str) -> int:
        return sum(pod["status"].get("phase") == "Running" for pod in self.pods(job))

    def until(self, holds: Callable[[], object], what: str) -> None:
        wait(lambda: bool(holds()), lambda: what)

    def end(self, job: str) -> None:
        self.api.delete(f"{JOBS}/{job}", dependents="Background")
        self.until(lambda: not self.pods(job), "the pods of a deleted job stay")


def gang(name: str, members: int, **spec: object) -> dict[str, Any]:
    container = {
        "name": "train",
        "image": "train",
        "resources": {"requests": WHOLE, "limits": WHOLE},
    }
    metadata = {"annotations": {"fleet.gpu/runs-for": "1h"}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    task = {"name": "rank", "replicas": members, "template": {"metadata": metadata, "spec": pod}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "research"},
        "spec": {"queue": "research", "minAvailable": members, "tasks": [task], **spec},
    }


def program() -> None:
    crds = Volcano("volcano", VolcanoArgs(pools={"research": "dgx"})).release
    PoolDomains("pools", PoolDomainsArgs(pools=["dgx"], crds=crds))
    queues = {"research": Queue(weight=1, gpus=32, pool="dgx")}
    teams = {"research": Team(cost_centre="4100", queues=queues)}
    made = Teams("teams", TeamsArgs(teams=teams, pools={"dgx": 32}, rented=frozenset(), crds=crds))
    QueueEntry("queue-entry", QueueEntryArgs(queues=queues, teams=made))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    tools, directory = ensure(console=None), tmp_path_factory.mktemp("fleet")
    processes, environment = Processes(directory), dict(os.environ)
    launcher = Launcher(
        directory=directory,
        processes=processes,
        programs=Programs.of(tools),
        environment=environment,
    )
    try:
        plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
        yield _made(
            engine(
                KubernetesProvider(
                    cloud=Cloud(directory), crds=tools.crds, programs=controller_programs(tools)
                ),
                directory,
            ),
            Secret(plane.kubeconfig.read_text()),
            Controllers(
                api=plane.api,
                directory=directory,
                processes=processes,
                environment=environment,
                root=ROOT,
            ),
        )
    finally:
        processes.stop()


def _made(asks: FakeEngine, kubeconfig: Secret, place: Controllers) -> Fleet:
    """What the program makes, in its order, and the machines."""
    made = made_of(program, asks, kubeconfig)
    api = place.api
    for name in ("dgx-0", "dgx-1", "dgx-away"):
        api.create("/api/v1/nodes", machine(name, "dgx"))
    merge = {"Content-Type": "application/merge-patch+json"}
    api.request("PATCH", "/api/v1/nodes/dgx-away", {"spec": {"unschedulable": True}}, headers=merge)
    start_ours(place)
    account = "/api/v1/namespaces/research/serviceaccounts/default"
    wait(lambda: api.get(account) is not None, lambda: "pods need an account")
    (release,) = [each for each in made.values() if each.type == RELEASE]
    return Fleet(api=api, engine=asks, release=release, place=place)
