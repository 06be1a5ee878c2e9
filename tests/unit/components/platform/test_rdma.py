"""The device plugins of the network between GPUs."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.platform.rdma import CONFIGURE, Rails, RdmaDevices, RdmaDevicesArgs, configuration
from hardware.catalogue import load
from settings.names import GPU, RDMA_RESOURCE, exempt_from
from tests.support.recorder import Registered, named, render

DGX = Rails(devices=load("dgx-h200").rails, pods=8)


def resources(*, efa: bool = False, **rails: Rails) -> list[Registered]:
    args = RdmaDevicesArgs(rails=rails, efa=efa)
    return render(lambda: RdmaDevices("rdma", args).urn and None)


def pod(found: list[Registered]) -> Mapping[str, Any]:
    (made,) = named(found, "DaemonSet").values()
    spec: Any = made.inputs["spec"]
    template: Mapping[str, Any] = spec["template"]["spec"]
    return template


def configured(
    tmp_path: Path, rails: Rails, interfaces: Mapping[str, list[str]]
) -> subprocess.CompletedProcess[str]:
    """Run the script on a machine whose RDMA devices have these network interfaces."""
    for device, names in interfaces.items():
        for name in names:
            (tmp_path / "devices" / device / "device/net" / name).mkdir(parents=True)
    told = configuration(rails, str(tmp_path / "config.json"))
    told["DEVICES"] = str(tmp_path / "devices")
    return subprocess.run(
        ["/bin/sh", "-ec", CONFIGURE], env=told, capture_output=True, text=True, check=False
    )


def test_the_plugin_hands_out_the_compute_rails_and_no_card_of_the_storage_network(
    tmp_path: Path,
) -> None:
    interfaces = {f"mlx5_{number}": [f"ibp{number}"] for number in range(12)}

    assert configured(tmp_path, DGX, interfaces).returncode == 0

    (written,) = json.loads((tmp_path / "config.json").read_text())["configList"]
    assert f"{written['resourcePrefix']}/{written['resourceName']}" == RDMA_RESOURCE
    assert written["rdmaHcaMax"] == 8
    rails = [0, 3, 4, 5, 6, 9, 10, 11]
    assert written["selectors"] == {
        "vendors": ["15b3"],
        "ifNames": [f"ibp{number}" for number in rails],
    }


def test_a_machine_that_lacks_a_rail_offers_none(tmp_path: Path) -> None:
    interfaces = {f"mlx5_{number}": [f"ibp{number}"] for number in range(12) if number != 9}

    ended = configured(tmp_path, DGX, interfaces)

    assert ended.returncode == 1
    assert "the rail mlx5_9 of the catalogue has no network interface" in ended.stderr
    assert not (tmp_path / "config.json").exists()


def test_the_plugin_runs_on_the_machines_of_its_pool_whatever_their_taints() -> None:
    found = pod(resources(dgx=DGX))
    required = found["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "fleet.gpu/pool", "operator": "In", "values": ["dgx"]}
    ]
    assert found["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize("part", ["containers", "initContainers"])
def test_the_plugin_takes_no_cpu_that_a_job_could_have(part: str) -> None:
    (container,) = pod(resources(dgx=DGX))[part]
    assert container["resources"]["requests"]["cpu"] == "0"
    assert GPU not in container["resources"]["requests"]


def test_the_plugins_may_use_their_nodes() -> None:
    (space,) = named(resources(dgx=DGX), "Namespace").values()
    metadata: Any = space.inputs["metadata"]
    assert metadata["name"] in exempt_from("host-access")
    assert metadata["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_efa_has_its_plugin_where_a_pool_has_efa() -> None:
    assert not named(resources(dgx=DGX), "Release")
    (release,) = named(resources(efa=True), "Release").values()
    values: Any = release.inputs["values"]
    assert values["nodeSelector"] == {"fleet.gpu/rdma": "efa"}
    assert values["image"]["repository"].startswith("public.ecr.aws/"), "no AWS credentials"
    assert values["tolerations"] == [{"operator": "Exists"}]


def test_each_volume_has_a_name_that_kubernetes_takes_and_is_there() -> None:
    found = pod(resources(dgx=DGX))
    names = {volume["name"] for volume in found["volumes"]}
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) for name in names)
    for container in (*found["containers"], *found["initContainers"]):
        assert {mount["name"] for mount in container["volumeMounts"]} <= names
