"""The storage class of the local NVMe drives."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.platform.scratch import Scratch, ScratchArgs, configuration
from settings.names import SCRATCH_PATH, exempt_from
from tests.support.recorder import Registered, named, render


def resources() -> list[Registered]:
    return render(lambda: Scratch("scratch", ScratchArgs(pools=["dgx", "burst"])).urn and None)


def test_a_directory_is_made_on_the_node_that_the_scheduler_has_chosen() -> None:
    (found,) = named(resources(), "StorageClass").values()
    assert found.inputs["volumeBindingMode"] == "WaitForFirstConsumer", (
        "a volume that exists before counts as taken, and Karpenter rents nothing for the pod"
    )
    assert found.inputs["reclaimPolicy"] == "Delete"


def test_only_pools_with_drives_have_the_class() -> None:
    (found,) = named(resources(), "StorageClass").values()
    topologies: Any = found.inputs["allowedTopologies"]
    assert topologies == [
        {"matchLabelExpressions": [{"key": "fleet.gpu/pool", "values": ["dgx", "burst"]}]}
    ]


def test_the_controller_serves_the_class_and_finds_its_files() -> None:
    found = resources()
    (deployed,), (kind,), (config,) = (
        tuple(named(found, each).values()) for each in ("Deployment", "StorageClass", "ConfigMap")
    )
    spec: Any = deployed.inputs["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    words = container["command"]
    metadata: Any = config.inputs["metadata"]
    assert words[words.index("--provisioner-name") + 1] == kind.inputs["provisioner"]
    assert words[words.index("--configmap-name") + 1] == metadata["name"]
    assert metadata["namespace"] in exempt_from("host-access")


def test_directories_are_made_below_scratch_on_nodes_with_any_taint() -> None:
    written = configuration()
    (where,) = json.loads(written["config.json"])["nodePathMap"]
    assert where["paths"] == [SCRATCH_PATH]
    helper = yaml.safe_load(written["helperPod.yaml"])
    assert helper["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert "@sha256:" in helper["spec"]["containers"][0]["image"]


@pytest.mark.parametrize("name", ["pvc-1", "a name with spaces"])
def test_a_directory_is_for_every_user_and_goes_with_all_that_is_in_it(
    name: str, tmp_path: Path
) -> None:
    directory = tmp_path / name
    written = configuration()
    for script in ("setup", "setup"):
        subprocess.run(
            ["/bin/sh", "-c", written[script]], env={"VOL_DIR": str(directory)}, check=True
        )
    assert directory.stat().st_mode & 0o777 == 0o777
    (directory / "checkpoint").write_text("weights")
    subprocess.run(
        ["/bin/sh", "-c", written["teardown"]], env={"VOL_DIR": str(directory)}, check=True
    )
    assert not directory.exists()
    assert tmp_path.exists()
