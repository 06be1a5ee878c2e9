"""Where a chart is looked for on this machine, and which one is taken."""

from pathlib import Path
from typing import Any

import pytest

import settings.versions
from rehearsal.charts.carried import CARRIED, carried
from rehearsal.charts.find import find_here, instead
from rehearsal.charts.rehearse import Equipment, find_all
from rehearsal.charts.wanted import Unreachable, Wanted
from rehearsal.providers.cloud import CloudObject
from settings.names import RELEASE
from toolchain.program import pinned

VOLCANO = Wanted(
    name="volcano", version="1.14.1", repository="https://volcano-sh.github.io/helm-charts"
)
OURS = Wanted(name="ours", version="v1.2.0", repository="https://charts.fleet.example")
TOOLCHAIN = Path("/toolchain/charts")


def chart(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: ours\nversion: {version}\n")
    return folder


def test_a_release_names_its_chart_by_repository_or_by_an_address() -> None:
    named = {"chart": "kured", "version": "6.0.0", "repositoryOpts": {"repo": "https://a.example"}}
    address = {"chart": "oci://a.example/charts/karpenter", "version": "1.14.1"}

    assert Wanted.of(named) == Wanted(name="kured", version="6.0.0", repository="https://a.example")
    assert Wanted.of(address) == Wanted(
        name="karpenter", version="1.14.1", repository="oci://a.example/charts/karpenter"
    )


@pytest.mark.parametrize("packed", ["ours-v1.2.0.tgz", "ours-1.2.0.tgz"])
def test_a_packed_chart_of_the_version_is_taken_from_the_folder(
    tmp_path: Path, packed: str
) -> None:
    (tmp_path / packed).touch()

    found = find_here(OURS, folder=tmp_path, toolchain=TOOLCHAIN)

    assert found
    assert found.path == tmp_path / packed


def test_an_unpacked_chart_is_taken_for_the_version_of_its_name_or_of_its_file(
    tmp_path: Path,
) -> None:
    named, plain = tmp_path / "named", tmp_path / "plain"
    chart(named / "ours-1.2.0", "0.0.0")
    chart(plain / "ours", "1.2.0")

    by_name = find_here(OURS, folder=named, toolchain=TOOLCHAIN)
    by_file = find_here(OURS, folder=plain, toolchain=TOOLCHAIN)

    assert by_name
    assert by_name.path == named / "ours-1.2.0"
    assert by_file
    assert by_file.path == plain / "ours"


def test_a_chart_of_another_version_is_not_taken(tmp_path: Path) -> None:
    chart(tmp_path / "ours", "1.2.1")
    (tmp_path / "ours-1.2.1.tgz").touch()

    assert find_here(OURS, folder=tmp_path, toolchain=TOOLCHAIN) is None


def test_a_folder_with_another_chart_in_it_is_not_taken(tmp_path: Path) -> None:
    wrong = "apiVersion: v2\nname: other\nversion: 1.2.0\n"
    for name in ("ours", "ours-1.2.0"):
        (chart(tmp_path / name, "1.2.0") / "Chart.yaml").write_text(wrong)

    assert find_here(OURS, folder=tmp_path, toolchain=TOOLCHAIN) is None


def test_what_the_folder_has_instead_is_told(tmp_path: Path) -> None:
    assert instead(OURS, tmp_path) == f"{tmp_path} has no ours"
    (tmp_path / "ours-v1.2.1.tgz").touch()
    (tmp_path / "ours-crd-1.2.0.tgz").touch()
    assert instead(OURS, tmp_path) == f"{tmp_path} has ours-v1.2.1.tgz"
    (chart(tmp_path / "ours", "1.2.0") / "Chart.yaml").write_text("{")
    (chart(tmp_path / "ours-1.2", "1.2") / "Chart.yaml").write_text("name: other\nversion: 3.0.0\n")
    assert instead(OURS, tmp_path) == (
        f"{tmp_path} has ours without a Chart.yaml that can be read, ours-1.2, which is other "
        "3.0.0, ours-v1.2.1.tgz"
    )


def test_the_reason_of_a_chart_that_is_nowhere_names_the_folder(tmp_path: Path) -> None:
    (tmp_path / "ours-v1.2.1.tgz").touch()
    api: Any = None
    equipment = Equipment(
        api=api, helm=tmp_path, toolchain=TOOLCHAIN, store=tmp_path / "store", folder=tmp_path
    )
    release = CloudObject(
        provider="kubernetes",
        type=RELEASE,
        id="ours",
        name="ours",
        inputs={"name": "ours", "chart": "ours", "version": "v1.2.0"},
        outputs={},
    )

    (found,) = find_all(equipment, [release]).values()

    assert isinstance(found, Unreachable)
    assert found.reason == (f"nothing says where it is published; {tmp_path} has ours-v1.2.1.tgz")


def test_the_folder_comes_before_the_modules(tmp_path: Path) -> None:
    (tmp_path / "volcano-1.14.1.tgz").touch()

    found = find_here(VOLCANO, folder=tmp_path, toolchain=TOOLCHAIN)

    assert found
    assert found.path == tmp_path / "volcano-1.14.1.tgz"
    assert not found.version  # a chart that was published is as it is


def test_a_chart_that_a_module_carries_has_the_version_that_its_release_writes() -> None:
    found = find_here(VOLCANO, folder=None, toolchain=TOOLCHAIN)

    assert found
    assert found.path == TOOLCHAIN / "volcano"
    assert found.version == "1.14.1"
    assert found.source == "Go module volcano.sh/volcano v1.14.1"


def test_an_image_of_karpenter_has_the_tag_of_the_release_and_no_digest_of_another() -> None:
    pin = settings.versions.KARPENTER
    found = carried(Wanted(name="karpenter", version=pin.version, repository=pin.name), TOOLCHAIN)

    assert found
    assert found.defaults == {"controller": {"image": {"tag": pin.version, "digest": ""}}}


@pytest.mark.parametrize(
    "other",
    [
        Wanted(name="volcano", version="1.14.0", repository=VOLCANO.repository),
        Wanted(name="volcano", version="1.14.1", repository="https://fork.example/charts"),
        OURS,
    ],
)
def test_a_chart_of_another_version_or_repository_is_in_no_module(other: Wanted) -> None:
    assert carried(other, TOOLCHAIN) is None


@pytest.mark.parametrize(
    ("name", "pin"),
    [
        ("volcano", settings.versions.VOLCANO),
        ("karpenter", settings.versions.KARPENTER),
        ("karpenter-crd", settings.versions.KARPENTER_CRD),
        ("cilium", settings.versions.CILIUM),
    ],
)
def test_the_modules_carry_the_very_charts_that_the_program_installs(
    name: str, pin: settings.versions.Chart
) -> None:
    wanted = Wanted(name=name, version=pin.version, repository=pin.repository or pin.name)

    assert carried(wanted, TOOLCHAIN)


@pytest.mark.parametrize("module", sorted({each.module for each in CARRIED.values()}))
def test_charts_are_of_one_version_with_the_kinds_of_the_same_module(module: str) -> None:
    of_kinds = {"sigs.k8s.io/kueue": "charts", "github.com/cilium/cilium": "crds/cilium"}

    assert pinned("charts", module) == pinned(of_kinds.get(module, "crds"), module)
