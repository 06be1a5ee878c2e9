"""A driver of NVIDIA's that comes as a system extension of one's own."""

import dataclasses
import json
import re
from typing import Any

import pytest

from hardware.catalogue import load
from hardware.flatcar.own_driver import EXAMPLE, own_driver
from ignition.boot.node import boot
from ignition.write.documents import RenderError
from ignition.write.render import NodeBoot, tuning_butane, tuning_ignition
from tests.conftest import ROOT
from tests.support.ignition.faults import Change, changed, everywhere, of, text, written
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER, node, user_data
from tests.unit.ignition.test_render import files
from tests.unit.ignition.test_render import text as contents

NAME = "flatcar-nvidia-drivers-580-open"
IMAGE = f"/opt/extensions/{NAME}/{EXAMPLE}"
LINK = f"/etc/extensions/{NAME}.raw"
CHECKSUM = f"sha512-{'a' * 128}"
UPDATES = "/etc/flatcar/update.conf"


def dgx(**changes: str | None) -> NodeBoot:
    own: dict[str, Any] = {
        "nvidia_driver": "580-open",
        "driver_extension": OWN_DRIVER,
        "fabric_manager": OWN_FABRIC_MANAGER,
        "flatcar": "4593.2.5",
    }
    return dataclasses.replace(node("dgx-h200"), **own | changes)


def without_nvswitch() -> NodeBoot:
    """A machine whose boot data has nothing of NVSwitch that would bind it to a release."""
    base = node("dgx-h200")
    hardware = dataclasses.replace(base.hardware, nvswitch=False)
    return dataclasses.replace(dgx(fabric_manager=None), hardware=hardware)


def refusal(change: Change) -> tuple[str, ...]:
    assert boot(user_data(dgx()), load("dgx-h200")).problems == ()
    return boot(changed(user_data(dgx()), change), load("dgx-h200")).problems


def test_it_is_downloaded_with_its_checksum_and_linked_by_its_name() -> None:
    config = tuning_ignition(dgx(driver_extension=f"{OWN_DRIVER}#{CHECKSUM}"))
    assert files(config)[IMAGE]["contents"] == {
        "source": OWN_DRIVER,
        "verification": {"hash": CHECKSUM},
    }
    links = {link["path"]: link["target"] for link in json.loads(config)["storage"]["links"]}
    assert links[LINK] == IMAGE
    assert "/etc/flatcar/enabled-sysext.conf" not in files(config)


def test_the_recipe_gives_it_the_name_that_flatcar_looks_for() -> None:
    """setup-nvidia asks `systemd-sysext list | grep -q flatcar-nvidia-drivers`, else compiles."""
    recipe = (ROOT / "ignition/sysext/build.sh").read_text()
    name = re.search(r"^ +name=(flatcar-nvidia-drivers-\S+)$", recipe, re.MULTILINE)
    file = re.search(r'"made/\$name\.raw" "(\S+)"', recipe)
    assert name
    assert file
    built = {"name": name[1], "branch": "580", "version": "580.95.05", "flatcar": "4593.2.5"}
    written_as = file[1].replace("$name", built["name"])
    for key, value in built.items():
        written_as = written_as.replace(f"${key}", value)
    assert written_as == EXAMPLE
    found = own_driver(written_as)
    assert found
    assert found.extension == NAME


@pytest.mark.parametrize(
    "file",
    [
        "nvidia-drivers-580-open-580.95.05-flatcar-4593.2.5.raw",
        "flatcar-nvidia-drivers-580-open-570.195.03-flatcar-4593.2.5.raw",
        "flatcar-nvidia-drivers-580-580.95.05-flatcar-4593.2.5.raw",
        "flatcar-nvidia-drivers-580-open-580.95.05.raw",
        "flatcar-nvidia-drivers-580-open-580.95.05-flatcar-4593.2.5.raw.sha512",
    ],
)
def test_a_file_of_another_name_is_no_driver(file: str) -> None:
    address = f"https://images.fleet.example/{file}"
    assert own_driver(address) is None
    with pytest.raises(RenderError, match=re.escape(f"{file} is no NVIDIA driver")):
        tuning_butane(dgx(driver_extension=address))


def test_one_of_another_release_is_not_written() -> None:
    with pytest.raises(RenderError, match=r"is not of Flatcar 4593\.2\.4, whose kernel"):
        tuning_butane(dgx(flatcar="4593.2.4"))


def test_fabric_manager_has_its_version() -> None:
    with pytest.raises(RenderError, match=r"another version than the driver 580-open; allowed: a "):
        tuning_butane(dgx(fabric_manager=OWN_FABRIC_MANAGER.replace("95.05", "95.06")))


def test_the_check_on_the_node_expects_its_whole_version() -> None:
    plan = files(tuning_ignition(dgx()))["/etc/fleet/plan.json"]
    assert json.loads(contents(plan))["driver"] == "580.95.05-open"


def test_a_node_with_it_boots_and_does_not_update_itself() -> None:
    own = without_nvswitch()
    assert boot(user_data(own), own.hardware).problems == ()
    gone = changed(user_data(own), of("files", UPDATES))
    (problem,) = boot(gone, own.hardware).problems
    assert problem.startswith(f"{NAME} fits one release of Flatcar alone, and the node updates")


FAULTS: dict[str, tuple[Change, str]] = {
    "it is not linked": (of("links", LINK), "has 8 GPUs and no driver"),
    "its name is not the one that nvidia.service looks for": (
        everywhere("flatcar-nvidia-drivers", "nvidia-drivers"),
        "nvidia.service knows a driver by its name flatcar-nvidia-drivers-…",
    ),
    "its name has no version": (
        everywhere("-580.95.05-flatcar-4593.2.5", ""),
        "does not say its version and release; name it as flatcar-nvidia-drivers-580-open-580",
    ),
    "the link has another name": (
        of("links", LINK, path="/etc/extensions/flatcar-nvidia-drivers-580.raw"),
        f"whose extension-release names {NAME}; link {LINK}",
    ),
    "a driver of Flatcar is enabled beside it": (
        written("/etc/flatcar/enabled-sysext.conf", "nvidia-drivers-570-open\n"),
        "the configuration names 2 NVIDIA drivers; keep one",
    ),
    "Fabric Manager is of another version": (
        everywhere("fabricmanager-580.95.05", "fabricmanager-580.159.04"),
        "Fabric Manager 580.159.04 does not fit the driver 580.95.05",
    ),
    "the check on the node expects another version": (
        text("/etc/fleet/plan.json", "580.95.05-open", "580-open"),
        'driver is "580-open", but the machine has "580.95.05-open"',
    ),
    "nothing looks for it before the release is good": (
        of("units", "node-healthy.service", contents="[Service]\nType=oneshot\n"),
        "node-healthy.service does not look for the driver",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named(fault: str) -> None:
    change, says = FAULTS[fault]
    problems = refusal(change)
    assert any(says in problem for problem in problems), problems


def test_the_efa_driver_is_for_the_same_release() -> None:
    efa = "https://images.fleet.example/sysext/efa-2.17.3-flatcar-4593.2.5.raw"
    burst = dataclasses.replace(
        dgx(efa=efa), hardware=node("p5e.48xlarge").hardware, plan=node("p5e.48xlarge").plan
    )
    both = user_data(burst)
    other = changed(both, everywhere("efa-2.17.3-flatcar-4593.2.5", "efa-2.17.3-flatcar-4593.2.4"))
    said = "is for another release of Flatcar than the EFA extension, which is for 4593.2.4"
    problems = boot(other, burst.hardware).problems
    assert any(said in problem for problem in problems), problems
    assert not any(said in problem for problem in boot(both, burst.hardware).problems)


def test_a_machine_without_gpus_gets_none() -> None:
    linked = changed(
        user_data(node("ccx33")),
        written(IMAGE, "image"),
    )
    config = json.loads(linked)
    config["storage"]["links"].append({"path": LINK, "target": IMAGE})
    problems = boot(json.dumps(config), load("ccx33")).problems
    assert "ccx33 has no GPU; remove nvidia-drivers-580-open" in problems
