"""What `fleet rehearse` prints and ends with where there is no rehearsal to report."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from engine.interrupts import Interrupted
from rehearsal import cli
from rehearsal.errors import NoBeginningError
from rehearsal.run import Rehearsal
from tests.conftest import ROOT
from toolchain.build import ToolchainError


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "stacks", tmp_path / "stacks")
    return tmp_path


def rehearsed(
    root: Path, capsys: pytest.CaptureFixture[str], **options: Any
) -> tuple[int, dict[str, Any]]:
    """Returns the exit code and what `--json` prints."""
    given = {"keep": False, "again": False, **options}
    code = cli.rehearse(root, "dev", as_json=True, **given)
    return code, json.loads(capsys.readouterr().out)


def raising(error: BaseException) -> Any:
    def run(*_: object, **__: object) -> None:
        raise error

    return run


def test_one_that_is_ended_by_a_signal_says_so_as_json(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rehearsal, "run", raising(Interrupted(signal.SIGINT)))
    code, found = rehearsed(checkout, capsys)
    assert (code, found["passed"]) == (130, False)
    (problem,) = found["problems"]
    assert problem.startswith("The rehearsal was ended in ")
    assert problem.endswith(" by SIGINT.")


def test_a_folder_that_cannot_be_written_is_said_as_json(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / ".rehearsal").write_text("in the way")
    code, found = rehearsed(checkout, capsys)
    assert code == 1
    (problem,) = found["problems"]
    assert problem == f"{checkout}/.rehearsal/dev/logs cannot be used: Not a directory."


@pytest.mark.parametrize(
    "options",
    [{"before": "no-such-commit"}, {"jobs": Path("jobs.yaml")}, {"before": "HEAD", "again": True}],
)
def test_what_names_nothing_to_come_from_is_bad_input(
    checkout: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any]
) -> None:
    code, found = rehearsed(checkout, capsys, **options)
    assert code == 2
    assert len(found["problems"]) == 1


def test_a_program_that_cannot_be_built_for_the_history_is_no_internal_error(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = ToolchainError("pulumi cannot be built: the disk is full.")
    monkeypatch.setattr("rehearsal.moves.deployed.ensure", raising(error))
    code, found = rehearsed(checkout, capsys, before="deployed")
    assert (code, found["problems"]) == (1, [str(error)])


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_commit_that_is_no_beginning_has_an_exit_code_of_its_own(
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    asked_first: bool,
) -> None:
    error = NoBeginningError("--from HEAD^1: it has other packages.")
    if asked_first:
        monkeypatch.setattr(cli, "asked", raising(error))
    else:
        monkeypatch.setattr(Rehearsal, "_rehearse", raising(error))
    code, found = rehearsed(checkout, capsys)
    assert code == 3
    assert found["problems"] == [str(error)]
    assert (found["passed"], found["no_beginning"]) == (False, True)


def test_a_broken_lock_of_images_is_found_before_anything_starts(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rehearsal.run.ensure", raising(AssertionError("programs are built")))
    (checkout / "stacks" / "images.dev.yaml").write_text("ours 1.0.0: {a.example/x: 3}\n")
    code, found = rehearsed(checkout, capsys)
    assert code == 1
    (problem,) = found["problems"]
    assert "images.dev.yaml is no lock of images" in problem
    assert "The digest of a.example/x is 3; allowed: sha256: with 64 digits" in problem
