"""Everything that is installed is pinned in one file, and can be raised by a robot."""

import re
from pathlib import Path

from fleet import versions
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


def test_no_component_pins_a_release_of_its_own() -> None:
    pinned = re.compile(r'"v?\d+\.\d+\.\d+(\.\d+)?"')
    for path in (ROOT / "components").rglob("*.py"):
        assert not pinned.search(path.read_text()), f"{path} pins a release"
