"""What a rehearsal found, from the file that `fleet rehearse ENV --json` has printed."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class RehearsalFileError(ValueError):
    """A file that holds no rehearsal of this environment; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """The part of a rehearsal's report that belongs beside a preview."""

    passed: bool
    problems: tuple[str, ...]
    nodes_ready: int
    nodes_wanted: int
    job: str  # the smoke job's own line, empty where none ran
    seconds: float


def read(path: Path, environment: str) -> Rehearsed:
    """Raises RehearsalFileError where the file cannot be read or is another environment's."""
    try:
        report: dict[str, Any] = json.loads(path.read_text())
        told = report["environment"]
        job = report["job"]
        found = Rehearsed(
            passed=report["passed"],
            problems=tuple(report["problems"]),
            nodes_ready=sum(pool["nodes_ready"] for pool in report["pools"]),
            nodes_wanted=sum(pool["nodes_wanted"] for pool in report["pools"]),
            job=f"{job['gpus']}-GPU job ran in {job['seconds']:.1f} s" if job else "",
            seconds=sum(phase["seconds"] for phase in report["phases"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RehearsalFileError(
            f"{path} is no report of a rehearsal ({type(error).__name__}); "
            f"`fleet rehearse {environment} --json > {path}` writes one."
        ) from error
    if told != environment:
        raise RehearsalFileError(
            f"{path} is of a rehearsal of {told}; allowed: one of {environment}."
        )
    return found
