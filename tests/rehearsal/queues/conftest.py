"""A control plane with Volcano's kinds and the queues of a team, as the program registers them."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from rehearsal.api import Api, ApiServerError
from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import Processes
from rehearsal.providers.kubernetes.readiness import install_crds
from settings import Queue, Team
from settings.operators import OPERATORS
from tests.support.recorder import named, render
from toolchain.build import ensure

DEADLINE_S = 30.0
POLICIES = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "ClusterRole": f"{RBAC}/clusterroles",
    "RoleBinding": f"{RBAC}/namespaces/{{}}/rolebindings",
    "ValidatingAdmissionPolicy": f"{POLICIES}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{POLICIES}/validatingadmissionpolicybindings",
}
GROUP = "oidc:research"
"""The group whose people work in the queues `research`, `burst` and `anywhere`."""


def program() -> None:
    queues = {
        "research": Queue(weight=4, gpus=16, pool="dgx"),
        "burst": Queue(weight=2, gpus=16, pool="burst"),
        "anywhere": Queue(weight=1, gpus=8),
    }
    teams = {
        "research": Team(cost_centre="4100", queues=queues, groups=(GROUP,)),
        "risk": Team(cost_centre="4200", queues={"risk": Queue(weight=1, gpus=8, pool="dgx")}),
    }
    crds = Volcano("volcano", VolcanoArgs(pools={})).release
    args = TeamsArgs(
        teams=teams,
        pools={"dgx": 16, "burst": 16},
        rented=frozenset({"burst"}),
        crds=crds,
        operators=OPERATORS,
    )
    Teams("teams", args)


@dataclass(frozen=True, kw_only=True)
class Queues:
    """The API server, asked as its administrator or as one of a group's people."""

    api: Api

    def refusal(
        self,
        method: str,
        path: str,
        body: object = None,
        group: str | None = None,
        *,
        user: str = "ada",
    ) -> str:
        """Why the server refuses a dry run of a request; empty where it takes it."""
        headers = {} if group is None else {"Impersonate-User": user, "Impersonate-Group": group}
        query = {"dryRun": "All"} if method != "GET" else None
        try:
            self.api.request(method, path, body, query=query, headers=headers)
        except ApiServerError as error:
            return str(error)
        return ""

    def until(self, holds: Any, what: str) -> None:
        """Ask until something holds: the server takes a second or two to hear of a policy."""
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < deadline, what
            time.sleep(0.1)


@pytest.fixture(scope="package")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queues]:
    """The queues of the teams `research` and `risk`, whose policy holds already."""
    tools = ensure(("control-plane", "kwok", "admitter", "crds"), console=None)
    directory = tmp_path_factory.mktemp("queues")
    processes = Processes(directory)
    programs = Programs.of(tools)
    launcher = Launcher(
        directory=directory, processes=processes, programs=programs, environment=dict(os.environ)
    )
    try:
        api = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16").api
        install_crds(api, tools.crds / "volcano")
        registered = render(program)
        for kind, path in PATHS.items():
            for each in named(registered, kind).values():
                metadata: Any = each.inputs["metadata"]
                place = path.format(metadata.get("namespace"))
                api.apply(f"{place}/{metadata['name']}", each.inputs)
        found = Queues(api=api)
        group = {"metadata": {"name": "stranger"}, "spec": {"minMember": 1, "queue": "burst"}}
        found.until(
            lambda: found.refusal("POST", pod_groups("research"), pod_group(group)), "rules"
        )
        yield found
    finally:
        processes.stop()


def pod_groups(namespace: str) -> str:
    """The collection of the PodGroups of a namespace."""
    return f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups"


def pod_group(content: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", **content}
