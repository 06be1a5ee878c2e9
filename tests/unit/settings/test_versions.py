"""All that is installed is pinned in one file, which Renovate can update."""

import re
from pathlib import Path

import pytest

from settings import versions
from tests.conftest import ROOT


def test_every_chart_is_pinned_to_one_release() -> None:
    charts = [value for value in vars(versions).values() if isinstance(value, versions.Chart)]
    assert charts
    for chart in charts:
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.version), chart.name


def test_every_release_stands_under_a_renovate_comment() -> None:
    lines = Path(versions.__file__).read_text().splitlines()
    pins = [
        number for number, line in enumerate(lines) if re.match(r'[A-Z_]+ = (Chart|"v?\d)', line)
    ]
    by_hand = {"FLATCAR_AMI_OWNER", "NVIDIA_DRIVER"}  # an account, and a branch without a feed
    for number in pins:
        name = lines[number].split(" = ")[0]
        assert name in by_hand or lines[number - 1].startswith("# renovate: "), name


@pytest.mark.parametrize("folder", ["components", "workloads"])
def test_nothing_that_is_installed_pins_a_release_of_its_own(folder: str) -> None:
    pinned = re.compile(r'"v?\d+\.\d+\.\d+(\.\d+)?"|"[\w./-]+\.\w+/[\w./-]+:[\w.-]+"')
    assert pinned.search('"nvcr.io/nvidia/pytorch:25.03-py3"')
    for path in (ROOT / folder).rglob("*.py"):
        assert not pinned.search(path.read_text()), f"{path} pins a release"


def test_a_manifest_runs_an_image_that_is_pinned() -> None:
    constants = {value for value in vars(versions).values() if isinstance(value, str)}
    found = {
        path.name: re.findall(r"\bimage: *(\S+)", path.read_text())
        for path in (ROOT / "workloads").rglob("*.yaml")
    }
    assert found, "there is nothing to look at"
    for name, images in found.items():
        assert images, name
        assert set(images) <= constants, name
