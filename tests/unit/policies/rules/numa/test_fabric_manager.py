"""The rule on pools behind NVSwitch."""

from typing import Any

import pytest

from ignition.write.extensions import fabric_manager_problem
from policies.rules.numa.fabric_manager import RULE
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.policies.shipped_pools import Config, Edit, edited, pool, told, unit

LINK = "/etc/extensions/nvidia-fabricmanager.raw"
EXTENSION = "have the system extension nvidia-fabricmanager for its GPUs behind NVSwitch"
VERSION = "have Fabric Manager in the version of its NVIDIA driver"
START = "start nvidia-fabricmanager.service, which comes with its system extension"


def unlink(config: Config) -> None:
    links = config["storage"]["links"]
    config["storage"]["links"] = [each for each in links if each["path"] != LINK]


def fetched_from(url: str) -> Edit:
    def edit(config: Config) -> None:
        (target,) = (it["target"] for it in config["storage"]["links"] if it["path"] == LINK)
        (found,) = (it for it in config["storage"]["files"] if it["path"] == target)
        found["contents"]["source"] = url

    return edit


def other_driver(config: Config) -> None:
    for found in config["storage"]["files"]:
        if found["path"] == "/etc/flatcar/enabled-sysext.conf":
            found["contents"] = {"source": "data:,nvidia-drivers-550-open"}


def said(*edits: Edit, **inputs: Any) -> list[str]:
    found = edited(pool(), *edits)
    found["spec"].update(inputs)
    return [each.removeprefix("gpu:pools:BareMetalPool 'p' must ") for each in told(RULE, found)]


@pytest.mark.parametrize("hardware", ["dgx-h200", "p5e.48xlarge", "hgx-b200"])
def test_a_machine_behind_nvswitch_starts_it_in_the_drivers_version(hardware: str) -> None:
    assert told(RULE, pool(hardware)) == []


def test_a_machine_without_nvswitch_needs_none() -> None:
    assert told(RULE, pool("gex44")) == []
    assert told(RULE, pool("ccx33", "batch")) == []


def test_a_missing_extension_is_refused() -> None:
    assert said(unlink) == [f"{EXTENSION}."]


def test_another_version_than_the_drivers_is_refused() -> None:
    assert said(fetched_from("https://x.example/fm-550.163.01.raw")) == [f"{VERSION}."]
    assert said(other_driver) == [f"{VERSION}."]


def test_another_patch_release_is_refused_where_the_os_is_known() -> None:
    older = "https://x.example/fm-570.133.20.raw"

    assert fabric_manager_problem(older, nvswitch=True, driver="570-open", flatcar=None) is None
    assert said(fetched_from(older)) == [f"{VERSION}."]
    assert said(fetched_from(older), flatcar=None) == []


def test_an_extension_that_nobody_starts_is_refused() -> None:
    assert said(unit("multi-user.target", dropins=[])) == [f"{START}."]
    assert said(unit("nvidia-fabricmanager.service", mask=True)) == [f"{START}."]


def test_it_has_the_version_that_an_extension_of_ones_own_names() -> None:
    found = pool(driver="580-open", driver_extension=OWN_DRIVER, fabric_manager=OWN_FABRIC_MANAGER)
    assert told(RULE, found) == []

    other = edited(found, fetched_from(OWN_FABRIC_MANAGER.replace("580.95.05", "580.159.04")))
    assert told(RULE, other) == [f"gpu:pools:BareMetalPool 'p' must {VERSION}."]
