"""What the API server makes of jobs in the namespaces of queues, by the policy of the program."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from rehearsal.api import Api, ApiServerError
from rehearsal.control_plane import Launcher
from rehearsal.providers.kubernetes.readiness import install_crds
from settings import Queue, Team
from tests.support.recorder import named, render
from toolchain.build import ensure

DEADLINE_S = 30.0
AGAIN = [{"event": "PodEvicted", "action": "RestartJob"}]
HARD = {"mode": "hard", "highestTierAllowed": 1}
POLICIES = "/apis/admissionregistration.k8s.io/v1"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ValidatingAdmissionPolicy": f"{POLICIES}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{POLICIES}/validatingadmissionpolicybindings",
}


def program() -> None:
    queues = {
        "research": Queue(weight=4, gpus=16, pool="dgx"),
        "burst": Queue(weight=2, gpus=16, pool="burst"),
        "anywhere": Queue(weight=1, gpus=8),
    }
    teams = {"research": Team(cost_centre="4100", queues=queues)}
    crds = Volcano("volcano", VolcanoArgs(pools={})).release
    rented = frozenset({"burst"})
    Teams("teams", TeamsArgs(teams=teams, pools={"dgx": 16, "burst": 16}, rented=rented, crds=crds))


def job(
    queue: str | None,
    members: int,
    topology: dict[str, Any] | None,
    policies: list[dict[str, Any]] | None,
) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "train", "image": "registry.fleet.example/train"}]}}
    task = {"name": "worker", "replicas": members, "template": pod}
    spec: dict[str, Any] = {"minAvailable": members, "tasks": [task]}
    spec |= {} if queue is None else {"queue": queue}
    spec |= {} if topology is None else {"networkTopology": topology}
    spec |= {} if policies is None else {"policies": policies}
    of_volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    return {**of_volcano, "metadata": {"name": "job"}, "spec": spec}


@pytest.fixture
def refusal(launcher: Launcher) -> Callable[..., str]:
    """Why the API server refuses a job in a namespace; empty where it takes it."""
    api = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16").api
    install_crds(api, ensure(console=None).crds / "volcano")
    registered = render(program)
    for kind, path in PATHS.items():
        for each in named(registered, kind).values():
            metadata: Any = each.inputs["metadata"]
            api.apply(f"{path}/{metadata['name']}", each.inputs)

    def ask(
        namespace: str,
        members: int = 1,
        queue: str | None = None,
        topology: dict[str, Any] | None = None,
        policies: list[dict[str, Any]] | None = AGAIN,
    ) -> str:
        path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs?dryRun=All"
        try:
            api.create(path, job(queue, members, topology, policies))
        except ApiServerError as error:
            return str(error)
        return ""

    wait_until_policies_hold(api, ask)
    return ask


def wait_until_policies_hold(api: Api, ask: Callable[..., str]) -> None:
    """The API server takes a second or two to hear of a policy."""
    deadline = time.monotonic() + DEADLINE_S
    while not ask("research", queue="burst"):
        assert time.monotonic() < deadline, api.items(PATHS["ValidatingAdmissionPolicy"])
        time.sleep(0.1)


def test_a_job_is_taken_where_it_can_start_and_refused_with_a_way_out(
    refusal: Callable[..., str],
) -> None:
    taken = [
        refusal("research", 8),
        refusal("research", 8, queue="research"),
        refusal("research", 8, queue="default"),
        refusal("burst", 1),
        refusal("burst", 8, topology=HARD),
        refusal("burst", 8, topology=HARD, policies=[{"events": ["*"], "action": "RestartJob"}]),
        refusal("research", 8, policies=None),
        refusal("anywhere", 1),
        refusal("default", 8, queue="research"),  # no queue's namespace
    ]
    assert taken == [""] * len(taken)
    assert "queue burst has its own namespace; allowed in this one: research" in refusal(
        "research", queue="burst"
    )
    whole = "a gang on rented machines must have networkTopology: {mode: hard, "
    for topology in (None, {"mode": "soft"}, {**HARD, "highestTierAllowed": 2}):
        assert whole in refusal("burst", 2, topology=topology)
    assert "must be in a queue that has a pool" in refusal("anywhere", 2, topology=HARD)
    for policies in (None, [{"event": "PodFailed", "action": "RestartJob"}]):
        assert "must have policies: [{event: PodEvicted, action: RestartJob}]" in refusal(
            "burst", 2, topology=HARD, policies=policies
        )
