"""Machines become nodes, or stay out with their reason."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ignition.boot.node import Booted
from policies.environment import load
from rehearsal import machines, report_builder
from rehearsal.api import Api
from rehearsal.machines import Fleet, MachineBooter
from rehearsal.nodes import manifest
from rehearsal.providers.cloud import FILE
from settings import stack_file
from settings.names import SERVER
from tests.conftest import ROOT
from tests.support.rehearsal import fleets
from tests.support.rehearsal.reports import text

HOSTS = "/apis/metal3.io/v1alpha1/baremetalhosts"


class FakeApi:
    """A cluster that makes every node Ready at once."""

    def __init__(self, lists: Mapping[str, list[dict[str, Any]]]) -> None:
        self.lists = dict(lists)
        self.nodes: list[dict[str, Any]] = []

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.nodes if path == "/api/v1/nodes" else self.lists.get(path, [])

    def get(self, path: str) -> dict[str, Any] | None:
        if path == "/version":
            return {"gitVersion": "v1.36.3"}
        if path.startswith("/api/v1/nodes/"):
            return next(node for node in self.nodes if path.endswith(node["metadata"]["name"]))
        user_data = base64.b64encode(path.rpartition("/")[2].encode()).decode()
        return {"data": {"userData": user_data}}

    def create(self, _path: str, body: dict[str, Any]) -> bool:
        if body["metadata"]["name"] in {node["metadata"]["name"] for node in self.nodes}:
            return False
        ready = {"type": "Ready", "status": "True"}
        self.nodes.append({**body, "status": {**body["status"], "conditions": [ready]}})
        return True


def host(name: str, hardware: str = "dgx-h200") -> dict[str, Any]:
    labels = {"fleet.gpu/pool": "dgx", "fleet.gpu/site": "fra", "fleet.gpu/hardware": hardware}
    metadata = {"name": name, "namespace": "metal3-dgx", "uid": f"uid-{name}", "labels": labels}
    image = {"url": "https://images.fleet.example/flatcar.img"}
    spec = {"userData": {"name": f"boot-of-{name}"}, "image": image}
    return {"metadata": metadata, "spec": spec}


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fleet]:
    """Boots machines; boot data with the word "broken" in it does not come up."""

    def boot(ignition: str, hardware: Any, *, fetch: object) -> Booted:  # its signature
        if "broken" in ignition:
            return Booted(node=None, problems=("Its kubelet would not start.",))
        if "gateway" in ignition:
            return Booted(node=None, problems=(), role="gateway")
        name = ignition.removeprefix("boot-of-")
        found = fleets.booted(name, hardware=hardware.name, pool="dgx", site="fra")
        return Booted(node=found, problems=())

    monkeypatch.setattr(machines, "boot", boot)

    def run(api: FakeApi) -> Fleet:
        room = MachineBooter(api=cast("Api", api), directory=tmp_path)
        return room.start(lambda _ready, _of: None)

    return run


def test_a_host_becomes_a_node_with_what_its_ignition_decided(
    start: Callable[..., Fleet],
) -> None:
    api = FakeApi({HOSTS: [host("dgx-1")]})
    (node,) = start(api).nodes
    made = api.nodes[0]
    assert made["metadata"]["name"] == "dgx-1"
    assert made["metadata"]["labels"]["fleet.gpu/pool"] == "dgx"
    assert made["spec"]["taints"] == [fleets.GPU_TAINT]
    assert made["status"]["capacity"]["hugepages-1Gi"] == "128Gi"
    assert made["status"]["allocatable"] == dict(node.booted.allocatable)


def test_a_host_with_broken_boot_data_stays_out_with_its_reason(
    start: Callable[..., Fleet],
) -> None:
    api = FakeApi({HOSTS: [host("dgx-1"), host("broken")]})
    fleet = start(api)
    assert [node["metadata"]["name"] for node in api.nodes] == ["dgx-1"]
    (refusal,) = fleet.refusals
    assert (refusal.name, refusal.pool) == ("broken", "dgx")
    assert refusal.reasons == ("Its kubelet would not start.",)


def test_a_host_of_unknown_hardware_stays_out_with_the_nearest_names(
    start: Callable[..., Fleet],
) -> None:
    fleet = start(FakeApi({HOSTS: [host("dgx-1", hardware="dgx-h20")]}))
    assert 'hardware "dgx-h20" is not in the catalogue' in fleet.refusals[0].reasons[0]
    assert "dgx-h200" in fleet.refusals[0].reasons[0]


def test_a_node_that_is_there_already_is_kept(start: Callable[..., Fleet]) -> None:
    api = FakeApi({HOSTS: [host("dgx-1")]})
    start(api)
    api.nodes[0]["metadata"]["uid"] = "first"
    assert len(start(api).nodes) == 1
    assert [node["metadata"]["uid"] for node in api.nodes] == ["first"]


def test_two_machines_that_name_themselves_alike_are_not_one_node(
    start: Callable[..., Fleet],
) -> None:
    fleet = start(FakeApi({HOSTS: [host("dgx-1"), host("dgx-1")]}))
    assert len(fleet.nodes) == 1
    assert fleet.refusals[0].reasons == ("It names itself dgx-1, as a machine of dgx does.",)


def server(name: str) -> dict[str, Any]:
    outputs = {
        "name": name,
        "serverType": "ccx33",
        "userData": "digest",
        "ipv4Address": "203.0.113.7",
        "labels": {"fleet.gpu/pool": "cpu", "fleet.gpu/site": "hel1"}
        | ({} if "gateway" in name else {"fleet.gpu/hardware": "ccx33"}),
    }
    return {
        "provider": "hcloud",
        "type": SERVER,
        "id": "42",
        "name": name,
        "inputs": {"userData": f"boot-of-{name}"},
        "outputs": outputs,
    }


def test_a_server_of_the_simulated_cloud_is_booted_from_its_user_data(
    start: Callable[..., Fleet], tmp_path: Path
) -> None:
    (tmp_path / FILE).write_text(json.dumps([server("cpu-1")]))
    api = FakeApi({})
    (node,) = start(api).nodes
    assert (node.machine.pool, node.machine.site) == ("cpu", "hel1")
    assert api.nodes[0]["spec"]["providerID"] == "hcloud://42"
    assert {"type": "InternalIP", "address": "203.0.113.7"} in api.nodes[0]["status"]["addresses"]


def test_a_gateway_that_comes_up_is_no_node_and_one_that_does_not_is_refused(
    start: Callable[..., Fleet], tmp_path: Path
) -> None:
    (tmp_path / FILE).write_text(json.dumps([server("gateway"), server("broken-gateway")]))
    fleet = start(FakeApi({}))
    assert fleet.nodes == ()
    assert [(gateway.name, gateway.hardware.name) for gateway in fleet.gateways] == [
        ("gateway", "ccx33")
    ]
    assert fleet.pools == ()
    assert [refusal.name for refusal in fleet.refusals] == ["broken-gateway"]


def node_class(user_data: str) -> dict[str, Any]:
    labels = {"fleet.gpu/pool": "burst", "fleet.gpu/hardware": "p5e.48xlarge"}
    images = [{"name": "Flatcar-stable-4593.2.5-hvm"}]
    spec = {"userData": user_data, "amiSelectorTerms": images}
    return {"metadata": {"name": "burst", "labels": labels}, "spec": spec}


def node_pool(capacity: str, limit: str) -> dict[str, Any]:
    labels = {"fleet.gpu/pool": "burst", "fleet.gpu/hardware": "p5e.48xlarge"}
    requirement = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity]}
    template = {"spec": {"nodeClassRef": {"name": "burst"}, "requirements": [requirement]}}
    spec = {"limits": {"nvidia.com/gpu": limit}, "template": template}
    return {"metadata": {"name": f"burst-{capacity}", "labels": labels}, "spec": spec}


def test_boot_data_for_karpenter_is_tried_without_making_a_node(
    start: Callable[..., Fleet],
) -> None:
    api = FakeApi({machines.NODE_CLASSES: [node_class("good")]})
    fleet = start(api)
    assert [found.name for found in fleet.node_classes] == ["burst"]
    assert api.nodes == []


def test_pools_are_described_by_what_was_deployed(
    start: Callable[..., Fleet], tmp_path: Path
) -> None:
    (tmp_path / FILE).write_text(json.dumps([server("cpu-1"), server("cpu-2")]))
    limits = {"reserved": "8", "spot": "16"}
    lists = {
        machines.HOSTS: [host("dgx-1")],
        machines.NODE_CLASSES: [node_class("good")],
        machines.NODE_POOLS: [node_pool(*limit) for limit in limits.items()],
    }
    found = {pool.name: pool for pool in start(FakeApi(lists)).pools}
    assert (found["dgx"].machines, found["dgx"].gpu_limit) == (("dgx-1",), None)
    assert found["dgx"].images == ("https://images.fleet.example/flatcar.img",)
    assert found["burst"].gpu_limits == {"reserved": 8, "spot": 16}
    assert (found["burst"].machines, found["burst"].gpu_limit) == ((), 24)
    assert found["burst"].images == ("Flatcar-stable-4593.2.5-hvm",)
    assert found["cpu"].machines == ("cpu-1", "cpu-2")


def test_the_report_shows_the_half_that_was_deployed_of_what_the_settings_say(
    start: Callable[..., Fleet],
) -> None:
    environment = load(stack_file(ROOT, "dev"))
    said = environment.settings.pools["burst"].gpus
    lists = {
        machines.HOSTS: [host("dgx-1")],
        machines.NODE_CLASSES: [node_class("good")],
        machines.NODE_POOLS: [node_pool("spot", str(said // 2))],
    }
    report = report_builder.with_fleet(
        report_builder.planned(environment), environment.settings, start(FakeApi(lists))
    )
    pools = {pool.name: pool for pool in report.pools}
    assert (said, pools["burst"].gpu_limit) == (16, 8)
    assert len(environment.settings.pools["dgx"].declared.machines) == 2  # type: ignore[union-attr]  # it is bare metal
    assert pools["dgx"].nodes_wanted == 1
    assert "cpu" not in pools, "no server was deployed"
    assert "up to 8" in text(report)
    assert "up to 16" not in text(report)


def test_broken_boot_data_for_karpenter_is_refused(start: Callable[..., Fleet]) -> None:
    fleet = start(FakeApi({machines.NODE_CLASSES: [node_class("broken")]}))
    assert fleet.node_classes == ()
    assert [r.name for r in fleet.refusals] == ["EC2NodeClass burst"]


def test_kwok_plays_the_kubelet_of_the_node() -> None:
    made = manifest(fleets.dev().nodes[0], "v1.36.3")
    assert made["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
    assert made["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"


def test_the_boot_data_of_a_known_machine_is_not_read_again(tmp_path: Path) -> None:
    api = FakeApi({HOSTS: [host("dgx-1"), host("dgx-2")]})
    room = MachineBooter(api=cast(Api, api), directory=tmp_path)
    first, _ = room.requested()
    old = replace(first, ignition="as it was read")
    assert [each.ignition for each in room.requested({old.provider_id: old})] == [
        "as it was read",
        "boot-of-dgx-2",
    ]
