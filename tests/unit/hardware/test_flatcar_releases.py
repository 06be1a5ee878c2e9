"""The table of drivers by Flatcar release, and the script that reads a release's tag into it."""

import re
from pathlib import Path

import pytest
import yaml

from hardware.flatcar import read_tag
from hardware.flatcar.read_tag import TagError, drivers, table_with
from hardware.flatcar.releases import TABLE, driver_version, releases, versions_of_branch
from settings import versions
from tests.support.flatcar_tag import STABLE, TAG, VULKAN, answers


def test_the_pinned_release_has_the_drivers_of_its_tag() -> None:
    known = releases()["4593.2.5"]
    assert known.tag == "stable-4593.2.5"
    assert known.nvidia_drivers == {"535": "535.274.02", "550": "550.163.01", "570": "570.195.03"}


def test_a_release_that_is_pinned_anew_has_been_read() -> None:
    assert versions.FLATCAR in releases(), (
        f"read its drivers: python -m hardware.flatcar.read_tag {versions.FLATCAR}"
    )
    assert driver_version(versions.FLATCAR, versions.NVIDIA_DRIVER) is not None


def test_a_driver_is_known_by_its_release_and_branch() -> None:
    assert driver_version("4593.2.5", "535-open") == "535.274.02"
    assert driver_version("9999.0.0", "570-open") is None
    assert driver_version("4593.2.5", "580-open") is None
    assert driver_version(None, "570") is None
    assert versions_of_branch("570") == {"570.181", "570.195.03"}


def test_the_versions_are_those_of_the_packages_that_the_tag_builds_extensions_from() -> None:
    assert drivers(TAG, answers().get) == releases()["4593.2.4"].nvidia_drivers


def test_a_version_that_the_release_does_not_build_does_not_count() -> None:
    recorded = answers(v570_123_19=VULKAN, v570_211_01=STABLE.replace(" amd64", " ~amd64"))
    assert drivers(TAG, recorded.get)["570"] == "570.195.03"


def test_two_versions_of_a_branch_are_refused_by_name() -> None:
    with pytest.raises(TagError, match=r"has 570\.195\.03, 570\.211\.01 of branch 570; expected"):
        drivers(TAG, answers(v570_211_01=STABLE).get)


def test_a_tag_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(TagError, match=r"^stable-4593\.2\.99: .* names no driver extension"):
        drivers("stable-4593.2.99", answers().get)


def test_a_package_that_no_overlay_has_is_refused_by_name() -> None:
    gone = {url: text for url, text in answers().items() if "old-nvidia" not in url}
    with pytest.raises(TagError, match="old-nvidia-drivers has none of branch 550; expected one"):
        drivers(TAG, gone.get)


def test_a_release_is_added_in_order_and_the_others_stay() -> None:
    text = TABLE.read_text()
    without = yaml.safe_dump(
        {name: entry for name, entry in yaml.safe_load(text).items() if name != "4593.2.4"},
        sort_keys=False,
    )
    assert table_with(without, "4593.2.4", answers().get) == text


def test_what_is_no_release_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(TagError, match='"stable" is no release of Flatcar'):
        table_with("", "stable", answers().get)


def test_the_command_says_what_it_could_not_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = TABLE.read_text()
    monkeypatch.setattr(read_tag, "github", {}.get)
    assert read_tag.main(["4593.2.99"]) == 2
    assert re.match(r"stable-4593\.2\.99: .*\.\n$", capsys.readouterr().err)
    assert TABLE.read_text() == before


def test_the_command_writes_what_it_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tmp_path / "releases.yaml"
    table.write_text("")
    monkeypatch.setattr(read_tag, "TABLE", table)
    monkeypatch.setattr(read_tag, "github", answers().get)
    assert read_tag.main(["4593.2.4"]) == 0
    assert list(yaml.safe_load(table.read_text())) == ["4593.2.4"]
