"""`fleet audit` of a real API server, with the objects that its controllers make."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from fleet.cli.main import app
from rehearsal.api import Api
from rehearsal.control_plane import Launcher
from rehearsal.nodes import NODES, wait_until_ready
from tests.support.admission.objects import KINDS, Object, gpus, pod, template

DEADLINE_S = 60
RESEARCH = "/api/v1/namespaces/research"
GPUS = {"cpu": "200", "memory": "1Ti", "pods": "100", "nvidia.com/gpu": "8"}
READER = {"apiGroups": ["", "apps"], "resources": ["pods", "deployments", "nodes"]}


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A cluster with one machine, a Deployment that breaks a rule, and 300 ConfigMaps."""

    api: Api
    kubeconfig: Path
    folder: Path = field(repr=False)

    def wait_for(self, what: str, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < until, f"{what} did not come"
            self.api.pause(0.1)

    def audit(self, *words: str, kubeconfig: Path | None = None) -> Result:
        named = ("--kubeconfig", str(kubeconfig or self.kubeconfig))
        return CliRunner().invoke(app, ["audit", "dev", *named, *words])

    def stranger(self) -> Path:
        """The kubeconfig of a user who may list three kinds."""
        rules = [{**READER, "verbs": ["list"]}]
        group = "rbac.authorization.k8s.io"
        self.api.create(f"/apis/{group}/v1/clusterroles", _named("reader", rules=rules))
        binding = _named(
            "reader",
            roleRef={"apiGroup": group, "kind": "ClusterRole", "name": "reader"},
            subjects=[{"kind": "ServiceAccount", "name": "reader", "namespace": "research"}],
        )
        self.api.create(f"/apis/{group}/v1/clusterrolebindings", binding)
        self.api.create(f"{RESEARCH}/serviceaccounts", _named("reader"))
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = self.api.request("POST", f"{RESEARCH}/serviceaccounts/reader/token", asked)
        said = yaml.safe_load(self.kubeconfig.read_text())
        said["users"] = [{"name": "rehearsal", "user": {"token": answer["status"]["token"]}}]
        path = self.folder / "stranger"
        path.write_text(yaml.safe_dump(said))
        return path


def _named(name: str, **content: Any) -> Object:
    return {"metadata": {"name": name}, **content}


def _in_research(found: Object, name: str) -> Object:
    return {**found, "metadata": {**found["metadata"], "name": name, "namespace": "research"}}


@pytest.fixture
def twin(launcher: Launcher, tmp_path: Path) -> Twin:
    plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
    found = Twin(api=plane.api, kubeconfig=plane.kubeconfig, folder=tmp_path)
    labels = {"fleet.gpu/team": "quant"}
    space = {"metadata": {"name": "research", "labels": labels}}
    found.api.create("/api/v1/namespaces", space)
    machine = _named("dgx-01", status={"capacity": GPUS, "allocatable": GPUS})
    machine["metadata"]["labels"] = {"fleet.gpu/hardware": "dgx-h200"}
    machine["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
    found.api.create(NODES, machine)
    assert wait_until_ready(found.api, ["dgx-01"], lambda _ready, _all: None) == {}
    found.wait_for(
        "the account of pods",
        lambda: found.api.get(f"{RESEARCH}/serviceaccounts/default") is not None,
    )
    for number in range(600):
        found.api.create(f"{RESEARCH}/configmaps", _named(f"c{number}", data={"a": "b"}))
    greedy = _in_research(KINDS["Deployment"](template(gpus(2, cpu="7.5"))), "greedy")
    greedy["spec"]["replicas"] = 2
    found.api.create("/apis/apps/v1/namespaces/research/deployments", greedy)
    labels = {"fleet.gpu/team": "research"}  # of dev's queue
    found.api.create(f"{RESEARCH}/pods", _in_research(pod(gpus(1), labels=labels), "good"))
    found.wait_for("three running pods", lambda: _running(found.api) == 3)
    return found


def _running(api: Api) -> int:
    return sum(each["status"].get("phase") == "Running" for each in api.items(f"{RESEARCH}/pods"))


def test_a_cluster_is_judged_with_what_its_controllers_made(twin: Twin) -> None:
    result = twin.audit("--json")

    assert result.exit_code == 1, result.output
    told = json.loads(result.stdout)
    broken = {
        finding["resource"]["file"]
        for verdict in told["verdicts"]
        for finding in verdict["findings"]
        if verdict["rule"] == "numa/guaranteed-qos"
    }
    assert broken == {"research/deployments.apps/greedy"}
    (mine,) = [each for each in told["by_namespace"] if each["namespace"] == "research"]
    assert (mine["team"], mine["gpus"], mine["gpus_in_use"]) == ("quant", 4, 5)
    assert mine["usd_per_hour"] > 0
    assert told["objects"] > 600  # more than a page of ConfigMaps
    assert (told["unreadable"], told["forbidden"]) == ([], {})

    shown = twin.audit().stdout
    assert "hold 4 of the 5 GPUs in use" in " ".join(shown.split())

    limited = twin.audit("--json", kubeconfig=twin.stranger())
    told = json.loads(limited.stdout)
    assert limited.exit_code == 2
    assert {"configmaps", "namespaces", "replicasets.apps"} <= told["forbidden"].keys()
    assert not {"pods", "deployments.apps", "nodes"} & told["forbidden"].keys()
    assert "secrets" not in told["forbidden"]

    gone = twin.audit("--context", "gone")
    assert gone.exit_code == 2
    assert "Context 'gone' not found" in gone.output
