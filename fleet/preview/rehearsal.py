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


def _new(environment: str) -> str:
    """Return a name that no file has, so that the advice writes over nothing."""
    names = (f"rehearsal-{environment}{'' if at == 1 else f'-{at}'}.json" for at in count(1))
    return next(name for name in names if not Path(name).exists())


def _change(moves: object, environment: str) -> tuple[str, ...]:
    if moves is None:
        return ()
    return five_lines(TypeAdapter(Moves).validate_python(moves), environment)


def _jobs(smoke: object) -> str:
    return "" if smoke is None else in_short(TypeAdapter(Smoke).validate_python(smoke))


def read(path: Path, environment: str) -> Rehearsed:
    """Raises RehearsalFileError if the file is unreadable or of another environment."""
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        told = report["environment"]
        found = Rehearsed(
            passed=report["passed"],
            problems=tuple(report["problems"]),
            nodes_ready=sum(pool["nodes_ready"] for pool in report["pools"]),
            nodes_wanted=sum(pool["nodes_wanted"] for pool in report["pools"]),
            jobs=_jobs(report["smoke"]),
            seconds=sum(phase["seconds"] for phase in report["phases"]),
            change=_change(report.get("moves"), environment),
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
