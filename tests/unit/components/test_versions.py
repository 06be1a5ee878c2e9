"""Everything that is installed is pinned in one file, and can be raised by a robot."""

import re
from pathlib import Path

from components import versions
from components.labels import labels, tags
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
        if path.name != "versions.py":
            assert not pinned.search(path.read_text()), f"{path} pins a release"


def test_labels_leave_out_what_does_not_apply() -> None:
    assert labels(site="fra", numa_plan="2956bf8b") == {
        "fleet.gpu/site": "fra",
        "fleet.gpu/numa-plan": "2956bf8b",
    }


def test_tags_name_the_cluster_besides() -> None:
    assert tags("fleet-dev", {"fleet.gpu/pool": "cpu"}) == {
        "fleet.gpu/cluster": "fleet-dev",
        "fleet.gpu/pool": "cpu",
    }
