"""The class of pods that leave the disks to others, read by containerd's own parser."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ignition.butane.urls import decode
from ignition.plan.tuning import Tuning
from ignition.write.render import tuning_ignition
from tests.support.ignition.nodes import node
from toolchain.build import ensure

pytestmark = pytest.mark.slow
BACKGROUND = {"blockio.resources.beta.kubernetes.io/pod": "background"}
LIMITED = Tuning(housekeeping_cores_per_numa_node=1, background_io_mib_per_s=200)


def read(text: str, annotations: dict[str, str]) -> dict[str, Any]:
    """What containerd makes of a file of classes, and of a pod with these annotations."""
    program = ensure(("blockio-classes",), console=None).path("blockio-classes")
    asked = json.dumps({"file": text, "annotations": annotations})
    ended = subprocess.run([program], input=asked, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout)
    assert isinstance(found, dict)
    return found


def classes(machine: str) -> str:
    """The file that a machine boots with."""
    config = json.loads(tuning_ignition(node(machine, tuning=LIMITED, purpose="training")))
    (file,) = (
        each
        for each in config["storage"]["files"]
        if each["path"] == "/etc/containerd/blockio.yaml"
    )
    return str(decode(file["contents"]["source"]).decode())


@pytest.mark.parametrize("machine", ["dgx-h200", "p5e.48xlarge"])
def test_a_pod_gets_the_class_by_its_annotation(machine: str) -> None:
    found = read(classes(machine), BACKGROUND)
    assert (found["error"], found["class"]) == ("", "background")
    assert read(classes(machine), {})["class"] == ""


def test_the_limit_is_that_of_the_settings() -> None:
    device = next((name for name in ("vda", "sda", "nvme0n1", "md0") if exists(name)), None)
    if device is None:
        pytest.skip("this machine has no block device that the class names")
    limits = read(classes("dgx-h200"), BACKGROUND)["limits"]
    for way in ("throttleReadBpsDevice", "throttleWriteBpsDevice"):
        assert {each["rate"] for each in limits[way]} == {200 << 20}


def exists(device: str) -> bool:
    return Path("/dev", device).is_block_device()


@pytest.mark.parametrize(
    ("old", "new"),
    [("ThrottleReadBps", "ThrottleRead"), ("200Mi", "200M/s"), ("Classes", "Class")],
)
def test_a_file_that_containerd_would_pass_over_is_seen(old: str, new: str) -> None:
    found = read(classes("dgx-h200").replace(old, new), BACKGROUND)
    assert found["error"]
