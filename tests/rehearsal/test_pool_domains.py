"""Volcano's real scheduler counts no machine that cannot take work, by fleet-pool-domains."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from pulumi_kubernetes.helm.v3 import Release

from components.platform.pool_domains import NAME, PoolDomains, PoolDomainsArgs
from rehearsal.control_plane import Launcher
from settings import Queue
from settings.names import VOLCANO_NAMESPACE
from tests.support.recorder import plain, render
from tests.support.rehearsal.volcano import PATHS, SCHEDULING, Cluster, machine, start, wait
from workloads.api_server import ApiServer, ApiServerError
from workloads.controllers.pool_domains.__main__ import pass_once
from workloads.controllers.pool_domains.domain import HYPER_NODES, Domain

BURST = Queue(weight=8, gpus=16, pool="burst")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = f"/api/v1/namespaces/{VOLCANO_NAMESPACE}/serviceaccounts"
GROUPS = {
    "ServiceAccount": ACCOUNTS,
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "ConfigMap": f"/api/v1/namespaces/{VOLCANO_NAMESPACE}/configmaps",
    "Deployment": f"/apis/apps/v1/namespaces/{VOLCANO_NAMESPACE}/deployments",
}
DRIFT = {"key": "fleet.gpu/drift", "value": "sysctl", "effect": "NoSchedule"}


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Two idle rented machines, a queue for them, and the program's own account."""

    cluster: Cluster
    program: ApiServer

    def change(self, node: str, spec: Mapping[str, Any]) -> None:
        kind = {"Content-Type": "application/merge-patch+json"}
        path = f"/api/v1/nodes/{node}"
        self.cluster.api.request("PATCH", path, {"spec": spec}, headers=kind)

    def reasons(self, *pods: str) -> list[str]:
        """Why each pod waits, as Karpenter reads it; empty where nobody has tried to place it."""
        return [self._reason(pod) for pod in pods]

    def _reason(self, pod: str) -> str:
        found = self.cluster.api.get(f"/api/v1/namespaces/burst/pods/{pod}") or {}
        conditions = found["status"].get("conditions") or ()
        by_type = {each["type"]: each.get("reason", "") for each in conditions}
        return str(by_type.get("PodScheduled", ""))


@pytest.fixture
def ground(launcher: Launcher) -> Ground:
    cluster = start(launcher, {"burst": BURST})
    for name in ("burst-0", "burst-1"):
        cluster.api.create("/api/v1/nodes", machine(name, "burst"))
    cluster.api.create(PATHS["Namespace"], {"metadata": {"name": VOLCANO_NAMESPACE}})

    def program() -> None:
        crds = Release("volcano", chart="volcano")
        PoolDomains("pools", PoolDomainsArgs(pools=["dgx", "burst"], crds=crds))

    for each in render(program):
        if each.kind in GROUPS:
            text = json.dumps(plain(each.inputs))
            thing = json.loads(text, parse_float=lambda number: int(float(number)))
            assert cluster.api.create(GROUPS[each.kind], thing), each.name
    made = cluster.api.request(
        "POST", f"{ACCOUNTS}/{NAME}/token", {"spec": {"expirationSeconds": 3600}}
    )
    folder = launcher.directory
    (folder / "token").write_text(str(made["status"]["token"]))
    (folder / "ca.crt").write_bytes((folder / "certificates" / "ca.crt").read_bytes())
    place = urlsplit(cluster.api.server)
    assert place.hostname
    assert place.port
    server = ApiServer(host=place.hostname, port=place.port, account=folder)
    wait(lambda: _ready(cluster, "burst-0", "burst-1"), lambda: "kwok makes the machines Ready")
    assert pass_once(server, ["dgx", "burst"])
    return Ground(cluster=cluster, program=server)


def _ready(cluster: Cluster, *nodes: str) -> bool:
    found = [cluster.api.get(f"/api/v1/nodes/{name}") or {} for name in nodes]
    return all(
        any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in node["status"].get("conditions") or ()
        )
        and not node["spec"].get("taints")
        for node in found
    )


@pytest.mark.parametrize("spec", [{"unschedulable": True}, {"taints": [DRIFT]}])
def test_an_idle_machine_that_takes_no_work_is_no_room_for_a_gang(
    ground: Ground, spec: Mapping[str, Any]
) -> None:
    ground.change("burst-1", spec)
    ground.cluster.gang("burst", "before", 2)
    pods = ("before-0", "before-1")
    wait(
        lambda: "Schedulable" in ground.reasons(*pods),
        lambda: f"Volcano alone counts the machine: {ground.reasons(*pods)}",
    )
    assert pass_once(ground.program, ["dgx", "burst"])
    wait(
        lambda: ground.reasons(*pods) == ["Unschedulable"] * 2,
        lambda: f"Karpenter must see both: {ground.reasons(*pods)}",
    )
    assert ground.cluster.running() == {"burst": 0}
    ground.change("burst-1", {"unschedulable": None, "taints": None})
    assert pass_once(ground.program, ["dgx", "burst"])
    ground.cluster.reaches(burst=2)


def test_a_machine_that_comes_while_the_program_is_away_is_room(ground: Ground) -> None:
    ground.change("burst-1", {"unschedulable": True})
    assert Domain(api=ground.program, pool="burst").update() == (
        "Pool burst: machines that cannot take work are burst-1."
    )
    assert Domain(api=ground.program, pool="burst").update() is None, "nothing is new"
    ground.cluster.gang("burst", "gang", 2)
    ground.cluster.api.create("/api/v1/nodes", machine("burst-2", "burst"))
    ground.cluster.reaches(burst=2)


def test_it_changes_no_node_and_no_other_domain(ground: Ground) -> None:
    kind = "application/merge-patch+json"
    patch = {"metadata": {"labels": {"a": "b"}}}
    for path in ("/api/v1/nodes/burst-0", f"{HYPER_NODES}/pool-other"):
        with pytest.raises(ApiServerError, match="403"):
            ground.program.request("PATCH", path, patch, kind)
    with pytest.raises(ApiServerError, match="403"):
        ground.program.request("GET", f"{SCHEDULING}/queues")


def test_without_an_api_server_it_says_so_and_goes_on(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    away = ApiServer(host="127.0.0.1", port=1, account=ground.program.account)
    assert not pass_once(away, ["burst"])
    assert "Pool burst is as before" in capsys.readouterr().err
