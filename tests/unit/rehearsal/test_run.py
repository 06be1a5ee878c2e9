"""What a rehearsal writes of itself: the versions of what runs, and when it makes no statement."""

import json
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from rich.console import Console

from engine.events import Outcome
from policies.environment import load
from rehearsal import run
from rehearsal.engine import Engine
from rehearsal.errors import RehearsalError
from rehearsal.moves.change import Change
from rehearsal.progress import Progress
from rehearsal.run import Rehearsal
from rehearsal.workspace import Workspace
from settings import stack_file
from tests.conftest import ROOT
from toolchain.build import Tools


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "stacks").mkdir()
    shutil.copy(ROOT / "stacks" / "Pulumi.dev.yaml", tmp_path / "stacks")
    found = Workspace(root=tmp_path, environment="dev")
    yield found
    found.processes.stop()


def test_the_versions_are_those_of_the_programs_that_run_and_not_the_pins(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = {"kubernetes": "1.36.99", "kwok": "0.8.99"}

    def ends(_tell: object) -> None:
        raise RehearsalError("The preview ends here.")

    engine = SimpleNamespace(preview=ends)
    twin = SimpleNamespace(
        engine=engine, control_plane=SimpleNamespace(api=None), take_back=lambda: None
    )
    tools = Tools(programs={}, crds=workspace.root, versions=newer)
    monkeypatch.setattr(run, "ensure", lambda **_: tools)
    monkeypatch.setattr(run, "set_up", lambda *_: twin)
    shown = StringIO()
    tracked = stack_file(workspace.root, "dev")

    rehearsal = Rehearsal(workspace, load(tracked), tracked, Progress(Console(file=shown)))
    report = rehearsal.run(keep=False, again=False)

    assert report.problems == ("The preview ends here.",)
    stated = json.loads(workspace.statement.read_text())["predicate"]
    assert stated["versions"] == newer
    assert "Kubernetes 1.36.99" in shown.getvalue()


@pytest.mark.parametrize("of_a_change", [False, True])
def test_a_first_update_goes_on_past_a_failure_and_a_rehearsed_change_stops_as_a_users_does(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *, of_a_change: bool
) -> None:
    given: list[tuple[str, ...]] = []

    def operate(_engine: Engine, _verb: str, more: tuple[str, ...], _progress: object) -> Outcome:
        given.append(more)
        return Outcome()

    monkeypatch.setattr(Engine, "_operate", operate)
    tracked = stack_file(workspace.root, "dev")
    rehearsal = Rehearsal(workspace, load(tracked), tracked, Progress(Console(file=StringIO())))
    rehearsal.change = cast("Change", object()) if of_a_change else None
    engine = Engine(
        root=workspace.root,
        environment_name="dev",
        directory=workspace.directory,
        processes=workspace.processes,
        pulumi=Path("pulumi"),
        environment={},
    )
    rehearsal._up(engine, lambda _outcome: None)

    (more,) = given
    assert ("--continue-on-error" in more) is not of_a_change
