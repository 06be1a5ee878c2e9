"""System extensions that belong to one driver or one release of the OS."""

import dataclasses
import json

import pytest

from ignition.write.documents import RenderError
from ignition.write.extensions import efa_problem, fabric_manager_problem
from ignition.write.render import NodeBoot, tuning_butane, tuning_ignition
from tests.support.ignition.nodes import node
from tests.unit.ignition.test_render import files, text, units

EFA = "https://images.fleet.example/sysext/efa-4593.2.5-x86-64.raw"


def dgx(**changes: str | None) -> NodeBoot:
    return dataclasses.replace(node("dgx-h200"), **changes)  # type: ignore[arg-type]  # names of fields


def manager(version: str) -> str:
    return f"https://images.fleet.example/nvidia-fabricmanager-{version}-x86-64.raw"


def test_gpus_behind_nvswitch_without_fabric_manager_are_refused() -> None:
    with pytest.raises(RenderError) as caught:
        tuning_butane(dgx(fabric_manager=None, flatcar="4593.2.5"))
    assert str(caught.value) == (
        "dgx-h200: its GPUs are behind NVSwitch, and CUDA starts on none without Fabric Manager "
        "570.195.03; give the URL of its system extension"
    )


@pytest.mark.parametrize(
    ("version", "driver", "flatcar", "fits"),
    [
        ("570.195.03", "570-open", "4593.2.5", True),
        ("570.211.01", "570-open", "4593.2.5", False),
        ("570.195.030", "570-open", "4593.2.5", False),
        ("1570.195.03", "570", "4593.2.5", False),
        ("550.163.01", "550", "4593.2.5", True),
        ("570.195.03", "550-open", "4593.2.5", False),
        ("570.181", "570-open", "4459.2.4", True),
        ("570.195.03", "570-open", "4459.2.4", False),
        # where nobody says which release, the branch at least
        ("570.211.01", "570-open", None, True),
        ("550.163.01", "570-open", None, False),
    ],
)
def test_fabric_manager_has_exactly_the_drivers_version(
    version: str, driver: str, flatcar: str | None, fits: bool
) -> None:
    url = manager(version)
    problem = fabric_manager_problem(url, nvswitch=True, driver=driver, flatcar=flatcar)
    assert (problem is None) is fits
    boot = dgx(fabric_manager=url, nvidia_driver=driver, flatcar=flatcar)
    if fits:
        tuning_butane(boot)
    else:
        with pytest.raises(RenderError, match="is of another version than the driver"):
            tuning_butane(boot)


def test_a_version_in_the_folder_of_the_url_says_nothing_of_the_file() -> None:
    url = "https://images.fleet.example/570.195.03/fabricmanager-550.163.01.raw"
    assert fabric_manager_problem(url, nvswitch=True, driver="570", flatcar="4593.2.5")


def test_gpus_without_nvswitch_need_no_fabric_manager() -> None:
    assert fabric_manager_problem(None, nvswitch=False, driver="570", flatcar=None) is None


def test_a_release_whose_drivers_are_not_known_is_refused_by_name() -> None:
    with pytest.raises(RenderError, match=r"the drivers of Flatcar 9999\.0\.0 are not known"):
        tuning_butane(dgx(flatcar="9999.0.0"))


def test_a_node_whose_extensions_belong_to_one_release_does_not_update_itself() -> None:
    frozen = files(tuning_ignition(node("dgx-h200")))["/etc/flatcar/update.conf"]
    assert text(frozen) == "SERVER=disabled\n"
    assert frozen["overwrite"], "the image has such a file"
    assert "/etc/flatcar/update.conf" not in files(tuning_ignition(node("ccx33")))


@pytest.mark.parametrize(
    ("file", "flatcar", "fits"),
    [
        ("efa-4593.2.5-x86-64.raw", "4593.2.5", True),
        ("efa-4593.2.4-x86-64.raw", "4593.2.5", False),
        ("efa-4593.2.50.raw", "4593.2.5", False),
        ("efa-14593.2.5.raw", "4593.2.5", False),
        ("efa.raw", "4593.2.5", False),
        ("efa.raw", None, True),
    ],
)
def test_the_efa_driver_is_of_the_very_release(file: str, flatcar: str | None, fits: bool) -> None:
    url = f"https://images.fleet.example/{file}"
    assert (efa_problem(url, flatcar) is None) is fits
    boot = dataclasses.replace(node("p5e.48xlarge"), efa=url, flatcar=flatcar)
    if fits:
        tuning_butane(boot)
    else:
        with pytest.raises(RenderError, match="a kernel module fits one release alone"):
            tuning_butane(boot)


def test_the_efa_driver_is_loaded_where_there_is_efa() -> None:
    config = tuning_ignition(dataclasses.replace(node("p5e.48xlarge"), efa=EFA))
    image = "/opt/extensions/efa/efa-4593.2.5-x86-64.raw"
    assert files(config)[image]["contents"]["source"] == EFA
    links = {link["path"]: link["target"] for link in json.loads(config)["storage"]["links"]}
    assert links["/etc/extensions/efa.raw"] == image
    assert "modprobe efa" in units(config)["efa-module.service"]["contents"]


@pytest.mark.parametrize("boot", [node("p5e.48xlarge"), dgx(efa=EFA)])
def test_nothing_of_efa_stands_where_it_is_not_declared_or_there_is_none(boot: NodeBoot) -> None:
    assert "efa" not in {unit.split("-")[0] for unit in units(tuning_ignition(boot))}


@pytest.mark.parametrize("machine", ["ccx33", "dgx-h200"])
def test_a_release_that_brings_up_no_healthy_node_is_not_marked_as_good(machine: str) -> None:
    found = units(tuning_ignition(node(machine)))
    (dropin,) = found["update-engine.service"]["dropins"]
    assert "Requires=node-healthy.service\nAfter=node-healthy.service" in dropin["contents"]
    healthy = found["node-healthy.service"]["contents"]
    assert "ConditionPathExists=/etc/kubernetes/kubelet.conf" in healthy, "a new node is not joined"
    assert ("/proc/driver/nvidia/version" in healthy) is (machine != "ccx33")


@pytest.mark.parametrize("checksum", [None, f"sha512-{'a' * 128}"])
def test_a_checksum_at_the_end_of_an_address_is_what_the_machine_checks(
    checksum: str | None,
) -> None:
    url = manager("570.195.03")
    whole = url if checksum is None else f"{url}#{checksum}"

    rendered = json.loads(tuning_ignition(dgx(fabric_manager=whole, flatcar="4593.2.5")))

    (found,) = (
        file["contents"] for file in rendered["storage"]["files"] if "fabricmanager" in file["path"]
    )
    assert found == {
        "source": url,
        **({} if checksum is None else {"verification": {"hash": checksum}}),
    }
