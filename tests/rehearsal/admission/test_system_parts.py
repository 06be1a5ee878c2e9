"""Under `deny` the parts that the fleet stands on run as before, and a team's pod does not."""

import copy
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.configuration import configure
from policies.gates.admission import manifests
from policies.rules import ALL
from settings.names import SYSTEM_NAMESPACES
from tests.support.admission.server import Server
from tests.support.fleet_check import run

PARTS = Path(__file__).with_name("system_parts.yaml")
TODAY = date(2026, 11, 22)


def parts() -> list[dict[str, Any]]:
    """The parts, and the pod of each, as a controller makes it."""
    found: list[dict[str, Any]] = list(yaml.safe_load_all(PARTS.read_text()))
    for owner in tuple(found):
        template = copy.deepcopy(owner["spec"]["template"])
        metadata = {"name": owner["metadata"]["name"], "namespace": owner["metadata"]["namespace"]}
        spec = template["spec"] | {"runtimeClassName": None, "priorityClassName": None}
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return found


def test_each_part_is_in_a_namespace_of_the_system() -> None:
    spaces = {each["metadata"]["namespace"] for each in parts()}
    assert spaces <= SYSTEM_NAMESPACES.keys()


def test_fleet_check_lets_the_parts_pass() -> None:
    result = run("-f", str(PARTS))
    assert result.exit_code == 0, result.stdout


@pytest.fixture(scope="module")
def denying(plane: Server) -> Iterator[Server]:
    """The server with every rule in a policy that refuses, and a queue's namespace."""
    for name in {each["metadata"]["namespace"] for each in parts()} - {"kube-system", "default"}:
        plane.made({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    queue = {"name": "trials", "labels": labels}
    plane.made({"apiVersion": "v1", "kind": "Namespace", "metadata": queue})
    for name in ["trials", *(each["metadata"]["namespace"] for each in parts())]:
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        plane.wait_for(f"the account of {name}", lambda at=account: plane.api.get(at) is not None)
    plane.install(list(manifests(configure({}), stage="deny", today=TODAY)))
    bad = pod("default", hostNetwork=True)
    plane.wait_for("the policies", lambda: not plane.try_out(bad).taken)
    yield plane
    plane.forget_rules()


def pod(namespace: str, **spec: Any) -> dict[str, Any]:
    """A pod of one container, whose image is by digest."""
    image = f"docker.io/library/python@sha256:{'ab' * 32}"
    whole = {"containers": [{"name": "main", "image": image}], **spec}
    metadata = {"name": "p", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def test_the_api_server_takes_every_part(denying: Server) -> None:
    assert len(parts()) == 22
    for part in parts():
        answer = denying.try_out(part)
        title = f"{part['kind']} {part['metadata']['namespace']}/{part['metadata']['name']}"
        assert answer.taken, f"{title}: {answer.message}"


def test_the_api_server_refuses_the_same_in_the_namespace_of_nobody(denying: Server) -> None:
    touching = [
        part
        for part in parts()
        if part["kind"] == "Pod" and part["metadata"]["namespace"] == "baremetal-operator-system"
    ]
    assert touching
    for part in touching:
        answer = denying.try_out({**part, "metadata": {"name": "p", "namespace": "default"}})
        assert answer.by_policy, "the rules hold where no part of the system is"


def test_pod_security_alone_keeps_a_queue_from_its_node(denying: Server) -> None:
    denying.forget_rules()  # as where the rules only warn
    host = pod("trials", hostNetwork=True)
    answer = denying.try_out(host)
    assert not answer.taken
    assert 'violates PodSecurity "baseline' in answer.message
    assert denying.try_out(pod("trials")).taken
    locking = pod("trials")
    locking["spec"]["containers"][0]["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    assert not denying.try_out(locking).taken, "the rule's own list must know no more than this"
    rule = next(each for each in ALL if each.id == "isolation/host-access")
    assert rule.defaults()["capabilities"] == []
