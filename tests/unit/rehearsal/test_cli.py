"""What `fleet rehearse` prints and ends with where there is no rehearsal to report."""

import json
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from engine.events import Outcome
from engine.interrupts import Interrupted
from fleet.in_twin import extras
from rehearsal import cli
from rehearsal.errors import NoBeginningError, RehearsalError
from rehearsal.faults.asked import asked
from rehearsal.kills import KilledUpdate
from rehearsal.progress import RunningPhase
from rehearsal.run import Rehearsal
from rehearsal.twin import Twin
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


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        (None, "node, link, etcd, api"),
        ({"reserved": 16}, "node, link, etcd, api, boot, capacity"),
    ],
    ids=["no rented pool", "no spot capacity"],
)
def test_a_fault_that_has_no_machine_to_hit_is_refused_before_anything_starts(
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    limits: dict[str, int] | None,
    allowed: str,
) -> None:
    monkeypatch.setattr(Rehearsal, "run", raising(AssertionError("it starts")))
    path = checkout / "stacks" / "Pulumi.dev.yaml"
    config = yaml.safe_load(path.read_text())
    if limits:
        config["config"]["gpu-fleet:pools"]["burst"]["gpu_limits"] = limits
    else:
        del config["config"]["gpu-fleet:pools"]["burst"]
        for team in config["config"]["gpu-fleet:teams"].values():
            for queue in team["queues"].values():
                queue["pool"] = "dgx"
    path.write_text(yaml.safe_dump(config))
    given = extras(kills=0, seed=1, destroy=False, faults=asked(["spot@1", "node@1"]))
    code, found = rehearsed(checkout, capsys, extras=given)
    told = (
        "--fault spot: gpu-fleet:pools and gpu-fleet:teams of dev give no gang such a machine; "
        f"allowed here: {allowed}."
    )
    assert (code, found["problems"]) == (2, [told])


def test_an_update_that_does_not_go_on_after_a_kill_is_reported_with_the_seed(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_up(rehearsal: Rehearsal, *, again: bool) -> None:
        assert not again
        twin = cast("Twin", SimpleNamespace(engine=None))
        now = cast("RunningPhase", SimpleNamespace(say=lambda _text: None))
        rehearsal._brought_up(twin, Outcome(started=20), now)

    monkeypatch.setattr(Rehearsal, "_rehearse", only_up)
    monkeypatch.setattr(KilledUpdate, "run", raising(RehearsalError("it broke")))
    given = extras(kills=2, seed=7, destroy=False)
    code, found = rehearsed(checkout, capsys, extras=given)
    assert (code, found["kills"]["seed"]) == (1, 7)
    assert found["problems"] == [
        "The update did not go on after 0 kills; --seed 7 kills at the same steps.",
        "it broke",
    ]


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
