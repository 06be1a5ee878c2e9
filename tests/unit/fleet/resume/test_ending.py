"""How `fleet resume` ends where it does not go on: a sentence and an exit code."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleet.deployed_stack import StackError
from fleet.resume import command as resuming
from fleet.resume.command import Wanted, command
from fleet.resume.run import NothingDoneError, Plan
from tests.conftest import ROOT

LEFT = Plan(state={}, clouds=None, begun=(), answers=(), unseen=("urn",), locks=())  # type: ignore[arg-type]  # nobody is asked


def ctrl_c(*_given: object) -> Any:
    os.kill(os.getpid(), signal.SIGINT)


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_given: object) -> Any:
        raise error

    return fail


class Steps:
    """The steps of a resume, each as a test has it."""

    def __init__(self, plan: Callable[..., Any], settle: Callable[..., Any]) -> None:
        self.plan, self.settle = plan, settle
        self.stack = None


def planned(*_given: object) -> Plan:
    return LEFT


NEVER = failing(AssertionError())
DOWN = failing(StackError("No route."))


@pytest.mark.parametrize(
    ("steps", "code", "told"),
    [
        (Steps(ctrl_c, NEVER), 130, "Stopped: nothing was changed."),
        (Steps(DOWN, NEVER), 2, "No route."),
        (Steps(planned, ctrl_c), 130, "Stopped: `fleet resume dev` goes on."),
        (
            Steps(planned, DOWN),
            1,
            "No route.\nOnce that is mended, `fleet resume dev` goes on.",
        ),
        (Steps(planned, failing(NothingDoneError("Begun."))), 2, "Begun."),
    ],
)
def test_it_ends_with_a_sentence_and_says_whether_it_has_changed_anything(
    steps: Steps,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(resuming, "_resume", lambda *_given: steps)
    assert command(ROOT, "dev", Wanted(yes=True)) == code
    assert capsys.readouterr().err.strip().endswith(told)


def test_an_environment_without_a_stack_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, "nope", Wanted(yes=True)) == 2
    assert "nope" in capsys.readouterr().err
