"""Who may use the rehearsal directory of an environment."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from rehearsal.errors import RehearsalError
from rehearsal.processes import Processes
from rehearsal.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(root=tmp_path, environment="dev")


def test_a_second_rehearsal_of_an_environment_is_told_who_runs_and_how_to_end_it(
    workspace: Workspace,
) -> None:
    with workspace.held():
        wanted = rf"running \(process {os.getpid()}\).+make rehearse-stop ENV=dev"
        with pytest.raises(RehearsalError, match=wanted), workspace.held():
            pytest.fail("both hold the environment")


def test_two_environments_are_rehearsed_at_once(workspace: Workspace, tmp_path: Path) -> None:
    with workspace.held(), Workspace(root=tmp_path, environment="prod").held():
        pass


def test_an_environment_is_free_again_after_a_rehearsal(workspace: Workspace) -> None:
    for _ in range(2):
        with workspace.held():
            assert workspace.directory.is_dir()


def test_nobody_else_may_look_into_the_directory(workspace: Workspace) -> None:
    with workspace.held():
        assert stat.S_IMODE(workspace.directory.stat().st_mode) == 0o700


def test_a_rehearsal_begins_with_an_empty_directory_but_for_the_last_report(
    workspace: Workspace,
) -> None:
    with workspace.held():
        (workspace.directory / "state").mkdir()
        (workspace.directory / "state" / "old.json").touch()
        (workspace.directory / "up-findings.jsonl").touch()
        workspace.report.write_text("of the last one")
        assert workspace.begin() == ()
        left = sorted(path.name for path in workspace.directory.iterdir())
        assert left == ["lock", "report.json"]
        assert workspace.report.read_text() == "of the last one"


def test_a_kept_rehearsal_is_not_thrown_away(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "running", lambda _: ("etcd",))
    with workspace.held():
        workspace.kept_mark.touch()
        with pytest.raises(RehearsalError, match="make rehearse-stop ENV=dev"):
            workspace.begin()


def test_a_full_disk_is_told_before_anything_starts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(workspace.root)._replace(free=25_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with workspace.held(), pytest.raises(RehearsalError, match=r"has 25 MB of free disk"):
        workspace.begin()


def test_where_nothing_is_kept_nothing_goes_on(workspace: Workspace) -> None:
    with pytest.raises(RehearsalError, match=r"`fleet rehearse dev --keep` leaves one running"):
        workspace.resume()


def test_a_kept_rehearsal_with_a_dead_server_does_not_go_on(workspace: Workspace) -> None:
    processes = Processes(workspace.directory)
    sleeper = (sys.executable, "-c", "import time; time.sleep(600)")
    processes.start("etcd", sleeper, env=dict(os.environ))
    kwok = processes.start("kwok", sleeper, env=dict(os.environ))
    workspace.kept_mark.touch()
    workspace.resume()
    kwok.kill()
    kwok.wait()

    with pytest.raises(RehearsalError, match=r"kwok has ended .+ `make rehearse-stop ENV=dev`"):
        workspace.resume()
    with workspace.held(), pytest.raises(RehearsalError, match=r"is broken, as kwok has ended .+"):
        workspace.begin()
    processes.stop()


def test_a_kept_rehearsal_that_a_reboot_has_ended_gives_way(workspace: Workspace) -> None:
    with workspace.held():
        workspace.kept_mark.touch()
        workspace.begin()
        assert not workspace.kept_mark.exists()


def test_no_token_and_no_ignition_stays_when_a_rehearsal_has_ended(workspace: Workspace) -> None:
    for name in ("certificates/ca.key", "node-check/token", "node-check/machine.ign"):
        path = workspace.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")
    workspace.clear_twin()
    assert [*workspace.directory.iterdir()] == []


def test_stopping_where_nothing_was_rehearsed_makes_no_directory(workspace: Workspace) -> None:
    assert workspace.stop() == ()
    assert not workspace.directory.exists()
