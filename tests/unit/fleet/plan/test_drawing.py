"""The picture of a machine: everything that the catalogue lists is in it, in its place."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from fleet.plan.drawing import draw
from fleet.plan.subject import Subject, SubjectError, subject
from hardware.catalogue import names
from tests.conftest import ROOT
from tests.unit.fleet.plan.test_plan import fleet

SVG = "{http://www.w3.org/2000/svg}"


def drawable() -> list[str]:
    """The machines that have a plan."""
    found = []
    for name in names():
        try:
            subject(ROOT, name, None, ())
        except SubjectError:
            continue
        found.append(name)
    return found


def boxes(picture: str, role: str) -> list[ElementTree.Element]:
    return [
        rectangle
        for group in ElementTree.fromstring(picture).iter(f"{SVG}g")  # noqa: S314  # our own text
        for rectangle in group.iter(f"{SVG}rect")
        if rectangle.get("class") == role
    ]


def drawn(name: str, *choices: str) -> tuple[Subject, str]:
    found = subject(ROOT, name, None, choices)
    return found, draw(found)


@pytest.mark.parametrize("name", drawable())
def test_every_core_gpu_and_nic_is_drawn_once(name: str) -> None:
    found, picture = drawn(name)

    hardware = found.hardware
    cores = len(boxes(picture, "housekeeping")) + len(boxes(picture, "workload"))
    assert cores == len(hardware.cores())
    assert len(boxes(picture, "housekeeping")) == 2 * len(hardware.numa_nodes)
    assert len(boxes(picture, "gpu")) == hardware.gpu_count
    assert len(boxes(picture, "nic")) == len(hardware.nics)
    assert ("NVSwitch" in picture) == hardware.nvswitch


@pytest.mark.parametrize("name", drawable())
def test_nothing_is_drawn_beside_its_numa_node(name: str) -> None:
    _found, picture = drawn(name)

    for group in ElementTree.fromstring(picture).iter(f"{SVG}g"):  # noqa: S314  # our own text
        panel, *inside = group.iter(f"{SVG}rect")
        for box in inside:
            right = float(box.get("x", "")) + float(box.get("width", ""))
            bottom = float(box.get("y", "")) + float(box.get("height", ""))
            assert right <= float(panel.get("width", "")) + 0.1
            assert bottom <= float(panel.get("height", "")) + 0.1


def test_memory_is_drawn_by_its_use() -> None:
    _found, picture = drawn("dgx-h200", "hugepages_1gi_per_numa_node=512")

    (pages, _other) = boxes(picture, "pages-1gi")
    (pods, _rest) = boxes(picture, "pods")
    assert float(pages.get("width", "")) == pytest.approx(float(pods.get("width", "")), rel=0.05)
    assert boxes(picture, "pages-2mi") == []


def test_the_picture_suits_light_and_dark_pages_and_loads_nothing() -> None:
    _found, picture = drawn("dgx-h200")

    assert "prefers-color-scheme: dark" in picture
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_the_picture_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "machine.svg"

    assert fleet("plan", "dgx-h200", "--svg", str(target)).exit_code == 0

    assert target.read_text().startswith("<svg")


def test_the_picture_in_the_readme_is_todays() -> None:
    _found, picture = drawn("dgx-h200", "hugepages_1gi_per_numa_node=64")

    again = "run `fleet plan dgx-h200 --set hugepages_1gi_per_numa_node=64 --svg docs/dgx-h200.svg`"
    assert (ROOT / "docs" / "dgx-h200.svg").read_text() == picture, again
