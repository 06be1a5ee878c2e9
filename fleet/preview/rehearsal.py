"""Reads the result of a rehearsal from the output of `fleet rehearse ENV --json`."""

import json
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rehearsal.moves.result import Moves
from rehearsal.moves.words import five_lines
from rehearsal.smoke.results import Smoke
from rehearsal.smoke.words import in_short


class RehearsalFileError(ValueError):
    """The file holds no rehearsal of this environment; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """The part of a rehearsal's report that a preview shows."""

    passed: bool
    problems: tuple[str, ...]
    nodes_ready: int
    nodes_wanted: int
    jobs: str  # what the smoke set did, empty where it did not run
    seconds: float
    change: tuple[str, ...] = ()  # what it does to what runs, where it was rehearsed from a commit
    not_started: tuple[str, ...] = ()  # jobs of which nothing tells what it does to them


def _new(environment: str) -> str:
    """Return a name that no file has, so that the advice writes over nothing."""
    names = (f"rehearsal-{environment}{'' if at == 1 else f'-{at}'}.json" for at in count(1))
    return next(name for name in names if not Path(name).exists())


def _change(told: object, environment: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines of a change, and a sentence for each job that did not run before it."""
    if told is None:
        return (), ()
    moves = TypeAdapter(Moves).validate_python(told)
    return five_lines(moves, environment), moves.not_running


def _jobs(smoke: object) -> str:
    return "" if smoke is None else in_short(TypeAdapter(Smoke).validate_python(smoke))


def read(path: Path, environment: str) -> Rehearsed:
    """Raises RehearsalFileError if the file is unreadable or of another environment."""
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        told = report["environment"]
        change, not_started = _change(report.get("moves"), environment)
        found = Rehearsed(
            passed=report["passed"],
            problems=tuple(report["problems"]),
            nodes_ready=sum(pool["nodes_ready"] for pool in report["pools"]),
            nodes_wanted=sum(pool["nodes_wanted"] for pool in report["pools"]),
            jobs=_jobs(report["smoke"]),
            seconds=sum(phase["seconds"] for phase in report["phases"]),
            change=change,
            not_started=not_started,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RehearsalFileError(
            f"{path} is no report of a rehearsal ({type(error).__name__}); "
            f"`fleet rehearse {environment} --json > {_new(environment)}` writes one."
        ) from error
    if told != environment:
        raise RehearsalFileError(
            f"{path} is a rehearsal of {told}; allowed: a rehearsal of {environment}."
        )
    return found
