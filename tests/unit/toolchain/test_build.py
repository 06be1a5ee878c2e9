"""The builder, with a script in the place of Go."""

import fcntl
import io
import subprocess
import threading
from typing import NoReturn

import pytest
from rich.console import Console

from tests.unit.toolchain.conftest import Workshop
from toolchain.build import ToolchainError, ensure
from toolchain.programs import BUTANE_CHECK, CRDS, KWOK


def test_a_program_that_is_nowhere_is_built(workshop: Workshop) -> None:
    tools = workshop.ensure("butane-check", "pulumi")

    assert workshop.builds() == ["butane-check", "pulumi", "pulumi-language-python"]
    assert tools.path("butane-check").stat().st_mode & 0o111
    beside = {path.name for path in tools.path("pulumi").parent.iterdir()}
    assert {"pulumi", "pulumi-language-python", "pulumi-language-python-exec"} <= beside


def test_the_crds_lie_by_system(workshop: Workshop) -> None:
    crds = workshop.ensure("crds").crds

    assert {path.parent.name for path in crds.glob("*/*.yaml")} == {
        "cilium",
        "karpenter",
        "volcano",
        "metal3",
        "prometheus-operator",
    }


def test_a_folder_of_a_module_is_copied_whole_and_can_be_deleted(workshop: Workshop) -> None:
    templates = workshop.go / "module" / "charts" / "kueue" / "templates"
    workshop.go.joinpath("module", "charts", "kueue").unlink()
    templates.mkdir(parents=True)
    (templates / "webhook.yaml").write_text("rendered")
    templates.chmod(0o555)  # as Go leaves what it has unpacked

    charts = workshop.ensure("charts").charts

    copied = charts / "kueue" / "templates" / "webhook.yaml"
    assert copied.read_text() == "rendered"
    assert copied.parent.stat().st_mode & 0o200
    assert {path.name for path in charts.iterdir()} == {
        "volcano",
        "karpenter",
        "karpenter-crd",
        "cilium",
        "kueue",
    }


def test_the_second_run_starts_no_process_and_prints_nothing(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.install("kwok", "kwok version v0.1.0")
    first = workshop.ensure("butane-check", "kwok", "crds")
    workshop.output.truncate(0)

    def refuse(*_arguments: object, **_options: object) -> NoReturn:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)

    assert workshop.ensure("butane-check", "kwok", "crds") == first
    assert not workshop.output.getvalue().strip("\0")


def test_progress_names_the_program_its_version_and_the_time_of_each_step(
    workshop: Workshop,
) -> None:
    workshop.ensure("butane-check")

    version = BUTANE_CHECK.version(workshop.layout.sources)
    for what in ("fetch its modules", "compile"):
        line = f"toolchain: butane-check {version}: {what}: "
        assert any(
            text.startswith(line) and text.endswith(" s")
            for text in workshop.output.getvalue().splitlines()
        )


def test_a_changed_pin_rebuilds_that_program_alone(workshop: Workshop) -> None:
    old = workshop.ensure("butane-check", "kwok").path("butane-check")
    workshop.pin("butane-check", f"butane v{BUTANE_CHECK.version()}", "butane v9.9.9")

    new = workshop.ensure("butane-check", "kwok").path("butane-check")

    assert workshop.builds() == ["butane-check", "kwok", "butane-check"]
    assert new.exists()
    assert not old.parent.exists()


def test_a_changed_source_rebuilds_the_program(workshop: Workshop) -> None:
    workshop.ensure("butane-check")
    with (workshop.layout.sources / "butane-check" / "main.go").open("a") as file:
        file.write("// another line\n")

    workshop.ensure("butane-check")

    assert workshop.builds() == ["butane-check", "butane-check"]


def test_a_pin_of_the_crds_moves_the_link(workshop: Workshop) -> None:
    workshop.ensure("crds")
    workshop.pin(
        "crds", f"karpenter-provider-aws v{CRDS.version()}", "karpenter-provider-aws v9.9.9"
    )

    crds = workshop.ensure("crds").crds

    assert crds.resolve().name.startswith("crds-9.9.9-")
    assert (crds / "karpenter").is_dir()


def test_after_a_build_only_programs_are_left(workshop: Workshop) -> None:
    workshop.ensure("butane-check")

    assert {path.name for path in workshop.layout.home.iterdir()} == {"bin", "lock"}


def test_a_module_that_cannot_be_had_is_named(workshop: Workshop) -> None:
    (workshop.go / "failure").write_text(
        "go: downloading sigs.k8s.io/kwok v0.7.0\n"
        "sigs.k8s.io/kwok/cmd/kwok: sigs.k8s.io/kwok@v0.7.0: reading "
        "https://proxy.example/v0.7.0.zip: 403 Forbidden\n\tserver response: not available\n"
    )

    with pytest.raises(ToolchainError) as caught:
        workshop.ensure("kwok")

    sentence = str(caught.value)
    assert sentence.startswith(
        f"The Go module sigs.k8s.io/kwok@v0.7.0, needed for kwok {KWOK.version()}, cannot be had "
        "(reading https://proxy.example/v0.7.0.zip: 403 Forbidden): check the network and GOPROXY"
    )
    assert "\n" not in sentence
    assert not workshop.layout.is_built(KWOK)
    assert not workshop.layout.work.exists()


def test_a_pin_without_its_checksums_says_what_to_run(workshop: Workshop) -> None:
    (workshop.go / "failure").write_text(
        "main.go:14:2: missing go.sum entry for module providing package example.org/x; to add:\n"
        "\tgo get gpu-fleet/toolchain/butane-check\n"
    )

    with pytest.raises(ToolchainError, match=r"run `go mod tidy` in toolchain/butane-check;"):
        workshop.ensure("butane-check")


def test_a_failed_build_says_the_first_error_and_keeps_its_log(workshop: Workshop) -> None:
    (workshop.go / "failure").write_text(
        "go: downloading example.org/x v1\n# gpu-fleet/toolchain\n"
        "main.go:3:1: undefined: thing\nmain.go:9:1: too many errors\n"
    )

    with pytest.raises(ToolchainError, match=r"undefined: thing\): see the log"):
        workshop.ensure("butane-check")

    assert "undefined: thing" in workshop.layout.log(BUTANE_CHECK).read_text()


def test_too_little_disk_is_said_before_anything_is_built(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 10**8

    monkeypatch.setattr("toolchain.layout.shutil.disk_usage", lambda _path: Usage)

    with pytest.raises(ToolchainError, match=r"needs 1 GB of free disk .* has 0\.1 GB: free"):
        workshop.ensure("kwok")

    assert workshop.builds() == []


def test_a_full_disk_in_the_middle_is_one_sentence(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("toolchain.layout.Path.rename", full)

    with pytest.raises(ToolchainError, match=r"No space left on device\): see that the folder"):
        workshop.ensure("butane-check")

    assert not workshop.layout.work.exists()


def test_without_go_and_without_its_wheel_the_way_out_is_said(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workshop.bin / "go").unlink()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    with pytest.raises(ToolchainError) as caught:
        workshop.ensure("butane-check")

    assert "there is none on PATH" in str(caught.value)
    assert "install Go and put it on PATH" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_go_that_is_too_old_is_not_used(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workshop.go / "version").write_text("1.20.14")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    with pytest.raises(ToolchainError, match=r"the one on PATH is 1\.20\.14"):
        workshop.ensure("butane-check")


def test_the_second_of_two_builds_waits_says_so_and_builds_nothing_twice(
    workshop: Workshop,
) -> None:
    waits = threading.Event()

    class Watched(io.StringIO):
        def write(self, text: str) -> int:
            if "wait for the build that another command has begun" in text:
                waits.set()
            return super().write(text)

    workshop.ensure("butane-check")
    built = workshop.layout.directory(BUTANE_CHECK)
    hidden = built.rename(workshop.go / "hidden")
    second = threading.Thread(
        target=ensure,
        args=(("butane-check",),),
        kwargs={"console": Console(file=Watched()), "layout": workshop.layout},
    )
    with (workshop.layout.home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second.start()
        assert waits.wait(timeout=30)
        hidden.rename(built)
    second.join(timeout=30)

    assert not second.is_alive()
    assert workshop.builds() == ["butane-check"]
