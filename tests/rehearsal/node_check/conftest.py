"""A control plane with the objects of fleet-node-check, and the account of one of its pods."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from components.platform.node_check import NAME, NodeCheck
from rehearsal.api import Api
from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import Processes
from settings.names import NODE_CHECK_NAMESPACE
from tests.support.recorder import plain, render
from toolchain.build import ensure
from workloads.api_server import ApiServerError as Refused
from workloads.node_check.drift import Drift
from workloads.node_check.node_api import NodeApi

GROUPS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{NODE_CHECK_NAMESPACE}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ValidatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    ),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    ),
    "DaemonSet": f"/apis/apps/v1/namespaces/{NODE_CHECK_NAMESPACE}/daemonsets",
}
DEADLINE_S = 60  # for a policy that never begins to hold
DRIFT = Drift(check="sysctl", what="It", seen="so", expected="otherwise", remedy="act")
NOW = "2026-11-21T12:00:00Z"


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A control plane with the objects of the component, and the account of a pod on node-a."""

    api: Api
    account: Path

    def check(self, node: str) -> NodeApi:
        """The check as it runs in that pod, turned to a node."""
        server = urlsplit(self.api.server)
        assert server.hostname
        assert server.port
        return NodeApi(host=server.hostname, port=server.port, node=node, account=self.account)

    def node(self, name: str) -> dict[str, Any]:
        found = self.api.get(f"/api/v1/nodes/{name}")
        assert found
        return found

    def condition(self, name: str) -> dict[str, Any]:
        conditions = self.node(name)["status"]["conditions"]
        (found,) = (each for each in conditions if each["type"] == "NodeDrift")
        return dict(found)

    def taints(self, name: str) -> list[tuple[str, str, str]]:
        taints = self.node(name)["spec"].get("taints", [])
        ours = [each for each in taints if not each["key"].startswith("node.kubernetes.io/")]
        return [(each["key"], each.get("value", ""), each["effect"]) for each in ours]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, toolchain: None) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("node-check")
    tools = ensure(console=None)
    processes = Processes(folder)
    launcher = Launcher(
        directory=folder,
        processes=processes,
        programs=Programs.of(tools),
        environment=dict(os.environ),
    )
    try:
        api = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16").api
        _install(api)
        token = _token(api)
        (folder / "token").write_text(token)
        (folder / "ca.crt").write_bytes((folder / "certificates" / "ca.crt").read_bytes())
        cluster = Cluster(api=api, account=folder)
        _wait_for_the_policy(cluster)
        yield cluster
    finally:
        processes.stop()


def _install(api: Api) -> None:
    """The component's objects, as it registers them; two nodes with a foreign taint."""
    for each in render(lambda: NodeCheck("node-check")):
        path = GROUPS.get(each.kind)
        if path is not None:
            # whole numbers reach the engine as floats
            text = json.dumps(plain(each.inputs))
            assert api.create(path, json.loads(text, parse_float=lambda number: int(float(number))))
    for name in ("node-a", "node-b"):
        api.create(
            "/api/v1/nodes",
            {
                "metadata": {"name": name, "labels": {"fleet.gpu/numa-plan": "8c1f02aa"}},
                "spec": {
                    "taints": [
                        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
                    ]
                },
            },
        )


def _token(api: Api) -> str:
    """As the kubelet of node-a asks for it: bound to a pod that runs there."""
    pods = f"/api/v1/namespaces/{NODE_CHECK_NAMESPACE}/pods"
    spec = {
        "nodeName": "node-a",
        "serviceAccountName": NAME,
        "containers": [{"name": "check", "image": "python"}],
    }
    assert api.create(pods, {"metadata": {"name": "check"}, "spec": spec})
    pod = api.get(f"{pods}/check")
    assert pod
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "check", "uid": pod["metadata"]["uid"]}
    path = f"{GROUPS['ServiceAccount']}/{NAME}/token"
    made = api.request("POST", path, {"spec": {"boundObjectRef": bound}})
    return str(made["status"]["token"])


def _wait_for_the_policy(cluster: Cluster) -> None:
    """The API server takes a new policy up within moments: try until it refuses."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        try:
            cluster.check("node-b").report([DRIFT], NOW)
        except Refused:
            return
    pytest.fail("the API server never took the policy up")
