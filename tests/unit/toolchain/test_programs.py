"""The table of programs and the Go modules that pin them."""

import re

import pytest

import settings.versions
from toolchain.build import Tools, versions
from toolchain.layout import HOME
from toolchain.program import SOURCES, Program, pinned
from toolchain.programs import (
    CONTROL_PLANE,
    CONTROL_PLANE_NEXT,
    CRDS,
    KARPENTER,
    KUBECTL,
    KUBELET_SHAPES,
    KUEUE,
    PROGRAMS,
    VOLCANO,
)


def test_every_system_that_is_built_has_its_version() -> None:
    assert set(versions) >= {"pulumi", "kubernetes", "etcd", "kwok", "karpenter", "volcano"}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values())


@pytest.mark.parametrize(
    "program",
    [CONTROL_PLANE, CONTROL_PLANE_NEXT, KUBECTL, KUBELET_SHAPES],
    ids=lambda one: one.name,
)
def test_kubernetes_and_its_staging_modules_are_of_one_version(program: Program) -> None:
    staging = program.version().removeprefix("1.")
    replaced = re.findall(
        r"^\t(\S+) => (\S+) v0\.(\S+)$",
        (SOURCES / program.folder / "go.mod").read_text(),
        re.MULTILINE,
    )

    assert program is CONTROL_PLANE_NEXT or program.version() == CONTROL_PLANE.version()
    assert len(replaced) > 20
    assert {version for _, _, version in replaced} == {staging}
    assert all(module == by for module, by, _ in replaced)


def test_the_scheduler_of_volcano_is_of_one_version_with_its_kinds_and_its_chart() -> None:
    assert VOLCANO.version() == versions["volcano"] == settings.versions.VOLCANO.version


def test_karpenter_its_kinds_and_its_settings_are_of_one_version() -> None:
    shipped = {settings.versions.KARPENTER.version, settings.versions.KARPENTER_CRD.version}
    pins = {KARPENTER.version(), CRDS.version(), versions["karpenter"]}
    assert pins == shipped


def test_kueue_is_of_one_version_with_its_chart() -> None:
    assert KUEUE.version() == versions["kueue"]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_every_module_folder_has_its_checksums(program: object) -> None:
    folder = SOURCES / getattr(program, "folder", "")
    found = list(folder.rglob("go.mod"))

    assert found
    assert all(go_mod.with_name("go.sum").stat().st_size for go_mod in found)


def test_a_module_that_nobody_pins_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"toolchain/kwok/go\.mod requires no example\.org/x"):
        pinned("kwok", "example.org/x")


def test_pulumi_finds_itself_and_this_python_first() -> None:
    tools = Tools(programs={"pulumi": HOME / "bin" / "pulumi-x" / "pulumi"}, crds=HOME / "crds")

    environment = tools.environment()

    first, second, *_ = environment["PATH"].split(":")
    assert first == str(HOME / "bin" / "pulumi-x")
    assert second == f"{environment['VIRTUAL_ENV']}/bin"
    assert environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "1"
