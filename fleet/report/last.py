"""Reads the report that the last rehearsal of an environment has left."""

import hashlib
from datetime import datetime
from pathlib import Path

from rehearsal.report import Report
from rehearsal.workspace import Workspace
from settings import stack_file


class NoReportError(ValueError):
    """There is no report to show; the message is one sentence."""


def last(root: Path, environment: str) -> Report:
    """Return the last report; raises SettingsError if there is no such environment."""
    stack_file(root, environment)
    path = Workspace(root=root, environment=environment).report
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise NoReportError(
            f"No rehearsal of {environment} has ended here yet: "
            f"`fleet rehearse {environment}` writes a report."
        ) from error
    try:
        found = Report.from_json(content.decode("utf-8"))
        if found.ended:
            datetime.fromisoformat(found.ended)
    except ValueError as error:
        raise NoReportError(
            f"{path} is no report of this version of the program: "
            f"`fleet rehearse {environment}` writes it anew."
        ) from error
    if found.environment != environment:
        raise NoReportError(
            f'{path} is a report of "{found.environment}", not of {environment}: '
            f"`fleet rehearse {environment}` writes it anew."
        )
    return found


def when(report: Report, root: Path) -> str:
    """Say when it ran, and if the stack file is another one now."""
    if not report.ended:
        return ""
    ended = datetime.fromisoformat(report.ended)
    said = f"Rehearsed on {ended:%Y-%m-%d} at {ended:%H:%M} UTC"
    path = stack_file(root, report.environment)
    if report.stack_file_sha256 not in ("", hashlib.sha256(path.read_bytes()).hexdigest()):
        said += f"; {path.relative_to(root)} was changed after that"
    return f"{said}."
