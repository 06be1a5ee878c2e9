"""The report has what a change did, also where the rehearsal of it goes wrong at its end."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from engine.events import Outcome
from policies.environment import load
from rehearsal.engine import EngineError
from rehearsal.errors import RehearsalError
from rehearsal.moves.change import Change
from rehearsal.moves.result import EndedJob, Moves
from rehearsal.progress import Progress
from rehearsal.report import Report
from rehearsal.run import Rehearsal
from rehearsal.twin import Twin
from settings import stack_file
from tests.conftest import ROOT

JOB = EndedJob(
    name="research/train", pool="dgx", node="dgx-01", gpus=8, gpu_hours_lost=24, usd=70.5, at_s=12
)
MOVES = Moves(ref="main", commit="1" * 40, snapshot=None, jobs=4, ended=(JOB,))


@dataclass
class FakeChange:
    """A change whose machines Karpenter does not end."""

    def told(self, _outcome: Outcome, _say: object) -> Moves:
        return MOVES

    def so_far(self, _outcome: Outcome) -> Moves:
        return replace(MOVES, jobs=5)

    def clear(self) -> None:
        raise RehearsalError("Karpenter does not end the machines rented for the jobs of before.")


def rehearsal() -> Any:
    found = Rehearsal.__new__(Rehearsal)
    found.report = Report(environment="dev")
    found.environment = load(stack_file(ROOT, "dev"))
    found.change = cast("Change", FakeChange())
    found.progress = Progress(Console(quiet=True))
    return found


NOW: Any = SimpleNamespace(say=lambda _text: None, fail=lambda _text: None, detail="")


def test_a_machine_that_is_not_given_back_takes_nothing_from_the_report() -> None:
    found = rehearsal()
    with pytest.raises(RehearsalError, match="does not end the machines"):
        found._tell(found.change, Outcome(), NOW)
    assert found.report.moves == MOVES
    assert "The change ends running jobs: 1" in found.report.problems[0]


def test_an_update_that_fails_on_its_way_tells_which_jobs_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = rehearsal()

    def fails(*_: object) -> Outcome:
        raise EngineError("up", Outcome(), ROOT / "no.log")

    monkeypatch.setattr(Rehearsal, "_brought_up", fails)
    with pytest.raises(EngineError):
        found._changed(cast("Twin", None), Outcome(), NOW)
    assert found.report.moves == replace(MOVES, jobs=5)
    assert "The change ends running jobs: 1" in found.report.problems[0]
