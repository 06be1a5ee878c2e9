"""Installed programs that replace built ones."""

import os
from pathlib import Path

import pytest

from tests.unit.toolchain.conftest import Workshop
from toolchain.build import versions
from toolchain.program import numbers
from toolchain.programs import CONTROL_PLANE, KWOK, PULUMI


def minor(version: str, step: int) -> str:
    """The version with its second number moved by `step` and its third 99."""
    major, second, _ = numbers(version)
    return f"{major}.{second + step}.99"


def test_an_installed_program_of_the_pinned_minor_is_used(workshop: Workshop) -> None:
    kwok = workshop.install(
        "kwok", f"kwok version v{minor(KWOK.version(), 0)} go1.26 (linux/amd64)"
    )

    assert workshop.ensure("kwok").path("kwok") == kwok
    assert workshop.builds() == []


@pytest.mark.parametrize("step", [-1, 1])
def test_an_installed_program_of_another_minor_is_not_used(workshop: Workshop, step: int) -> None:
    workshop.install("kwok", f"kwok version v{minor(KWOK.version(), step)}")

    workshop.ensure("kwok")

    assert workshop.builds() == ["kwok"]


def test_a_control_plane_is_known_by_the_version_of_its_api_server(workshop: Workshop) -> None:
    installed = workshop.install("control-plane", f"Kubernetes v{CONTROL_PLANE.version()}")

    assert workshop.ensure("control-plane").path("control-plane") == installed


def test_the_versions_are_those_of_the_programs_that_run(workshop: Workshop) -> None:
    newer = {
        "kubernetes": minor(CONTROL_PLANE.version(), 0),
        "kwok": minor(KWOK.version(), 0),
        "pulumi": minor(PULUMI.version(), 30),
    }
    built = workshop.ensure("control-plane", "kwok", "pulumi").versions
    assert built == versions
    workshop.install("control-plane", f"Kubernetes v{newer['kubernetes']}")
    workshop.install("kwok", f"kwok version v{newer['kwok']}")
    workshop.install("pulumi-language-python", "")
    workshop.install("pulumi", f"v{newer['pulumi']}")

    used = workshop.ensure("control-plane", "kwok", "pulumi").versions

    assert {name: version for name, version in used.items() if version != built[name]} == newer
    unknown = {"etcd", "pulumi-language-python"}
    assert built.keys() - used.keys() == unknown, "what comes with them prints no version"


def test_kubectl_is_known_by_its_own_version_as_a_client(workshop: Workshop) -> None:
    installed = workshop.install("kubectl", f"Client Version: v{CONTROL_PLANE.version()}")

    assert workshop.ensure("kubectl").path("kubectl") == installed


def test_an_installed_pulumi_of_a_later_minor_is_used_with_its_language_host(
    workshop: Workshop,
) -> None:
    workshop.install("pulumi-language-python", "")
    pulumi = workshop.install("pulumi", f"v{minor(PULUMI.version(), 30)}")

    tools = workshop.ensure("pulumi")

    assert tools.path("pulumi") == pulumi
    assert tools.environment()["PATH"].startswith(f"{workshop.bin}:")


@pytest.mark.parametrize("answer", ["v3.100.0", "v4.0.0", "something else", ""])
def test_a_pulumi_that_is_too_old_too_new_or_unheard_of_is_not_used(
    workshop: Workshop, answer: str
) -> None:
    workshop.install("pulumi-language-python", "")
    workshop.install("pulumi", answer)

    workshop.ensure("pulumi")

    assert "pulumi" in workshop.builds()


def test_a_pulumi_without_its_language_host_is_not_used(workshop: Workshop) -> None:
    workshop.install("pulumi", f"v{PULUMI.version()}")

    workshop.ensure("pulumi")

    assert "pulumi" in workshop.builds()


def test_an_installed_program_is_asked_once_until_its_file_changes(workshop: Workshop) -> None:
    asked = workshop.go / "asked"
    workshop.install("kwok", f"kwok version v{KWOK.version()}")
    workshop.ensure("kwok")
    workshop.ensure("kwok")
    assert asked.read_text().count("asked") == 1

    workshop.install("kwok", f"kwok version v{minor(KWOK.version(), 1)} (newer)")
    workshop.ensure("kwok")

    assert asked.read_text().count("asked") == 2
    assert workshop.builds() == ["kwok"]


def test_what_was_built_here_and_is_on_path_counts_as_built(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = workshop.ensure("kwok").path("kwok")
    monkeypatch.setenv("PATH", f"{built.parent}:{workshop.bin}")

    assert workshop.ensure("kwok").path("kwok") == built
    assert not (workshop.layout.home / "on-path.json").exists()


def test_the_pulumi_beside_fleet_hides_no_installed_one(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks for the right one itself, so to find it would never end."""
    ours = tmp_path / "venv" / "bin"
    ours.mkdir(parents=True)
    (ours / "pulumi").write_text("#!/bin/sh\nexit 1\n")
    (ours / "pulumi").chmod(0o755)
    workshop.install("pulumi-language-python", "")
    pulumi = workshop.install("pulumi", f"v{PULUMI.version()}")
    monkeypatch.setattr("sys.prefix", str(ours.parent))
    monkeypatch.setenv("PATH", f"{ours}{os.pathsep}{os.environ['PATH']}")

    assert workshop.ensure("pulumi").path("pulumi") == pulumi
