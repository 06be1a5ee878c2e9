"""A pod that is deleted ends as the kubelet ends it, and only then it is gone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.api import Api
from rehearsal.control_plane import Launcher
from tests.support.rehearsal.volcano import machine, wait

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def api(launcher: Launcher) -> Api:
    api = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16").api
    api.create("/api/v1/nodes", machine("dgx-0", "dgx"))
    wait(lambda: api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None, str)
    return api


def pod(name: str, **spec: object) -> dict[str, Any]:
    containers = [{"name": "one", "image": "one"}, {"name": "two", "image": "two"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def events(api: Api, name: str, version: str) -> Iterator[dict[str, Any]]:
    """The states of a pod until it is gone."""
    query = f"?watch=1&resourceVersion={version}&fieldSelector=metadata.name={name}"
    with api.client.stream("GET", f"{PODS}{query}") as lines:
        for line in lines.iter_lines():
            event = json.loads(line)
            yield event["object"]["status"]
            if event["type"] == "DELETED":
                return


def phase(api: Api, name: str) -> str:
    return str((api.get(f"{PODS}/{name}") or {})["status"].get("phase"))


def test_a_running_pod_that_is_deleted_fails_by_sigterm_before_it_is_gone(api: Api) -> None:
    api.create(PODS, pod("ends"))
    wait(lambda: phase(api, "ends") == "Running", lambda: "it does not run")
    version = api.request("GET", PODS)["metadata"]["resourceVersion"]
    api.delete(f"{PODS}/ends", dependents="Background")
    seen = list(events(api, "ends", version))
    assert list(dict.fromkeys(each["phase"] for each in seen)) == ["Running", "Failed"]
    states = [each["state"]["terminated"] for each in seen[-1]["containerStatuses"]]
    assert [each["exitCode"] for each in states] == [143, 143]
    ready = [each["status"] for each in seen[-1]["conditions"] if each["type"] == "Ready"]
    assert ready == ["False"]


def test_a_pod_that_never_ran_is_just_gone(api: Api) -> None:
    api.create(PODS, pod("waits", nodeSelector={"a": "b"}))
    api.delete(f"{PODS}/waits", dependents="Background")
    wait(lambda: api.get(f"{PODS}/waits") is None, lambda: "it stays")
