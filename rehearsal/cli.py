"""Implements `fleet rehearse`, `rehearse-stop` and `twin`: their output and exit codes."""

import json
import shutil
import traceback
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from engine.console import show
from engine.interrupts import Interrupted, interruptible
from policies.environment import load
from rehearsal.errors import NoBeginningError, NothingToHitError, RehearsalError
from rehearsal.extras import Extras
from rehearsal.faults.run import gangs_for
from rehearsal.moves.change import asked
from rehearsal.progress import Progress
from rehearsal.report import Report
from rehearsal.run import Rehearsal
from rehearsal.short_report import render_short
from rehearsal.tables import render
from rehearsal.twin_command import run_in_twin
from rehearsal.workspace import Workspace
from settings import SettingsError, stack_file
from toolchain.build import ToolchainError

HOLDS, FAILS, UNKNOWN, NO_BEGINNING = 0, 1, 2, 3


def rehearse(  # noqa: PLR0913  # an option each
    root: Path,
    environment: str,
    *,
    as_json: bool,
    keep: bool,
    again: bool,
    whole: bool = False,
    charts: Path | None = None,
    before: str | None = None,
    jobs: Path | None = None,
    extras: Extras | None = None,
) -> int:
    """Rehearses an environment of the checkout at `root`; returns the exit code.

    With `again`, on the twin that an earlier rehearsal has kept. `whole` prints every rule,
    resource and chart by name. `charts` is a folder with Helm charts. `before` is a commit from
    which the change is rehearsed, with the jobs of the snapshot `jobs` running. `extras` kills the
    engine on the way, or takes all down at the end.
    Progress goes to standard error; standard output gets the report alone.
    """
    errors = Console(stderr=True, soft_wrap=True, emoji=False)
    workspace = Workspace(root=root, environment=environment)
    nothing, progress = Report(environment=environment), Progress(errors)
    refused = partial(_refused, nothing, errors=errors, as_json=as_json)
    try:
        with interruptible():
            try:
                tracked = stack_file(root, environment)
                come_from = asked(root, environment, before, jobs, again=again)
            except (SettingsError, RehearsalError) as error:
                begins = not isinstance(error, NoBeginningError)
                return refused(error, UNKNOWN if begins else NO_BEGINNING)
            loaded = load(tracked)
            if extras and extras.faults:
                gangs_for(loaded.settings, extras.faults)  # or refused late
            rehearsal = Rehearsal(
                workspace,
                loaded,
                tracked,
                progress,
                charts=charts,
                before=come_from,
                extras=extras,
            )
            report = rehearsal.run(keep=keep, again=again)
    except (SettingsError, RehearsalError, ToolchainError) as error:
        return refused(error, UNKNOWN if isinstance(error, NothingToHitError) else FAILS)
    except Interrupted as interrupted:
        if as_json:
            told = f"The rehearsal was ended in {progress.current} by {interrupted}."
            _print_json(nothing.failed(told))
        return interrupted.exit_code
    except Exception as error:  # a mistake of ours; the user gets a sentence like any other
        return refused(_unexpected(error, workspace), FAILS)
    _show(report, as_json=as_json, whole=whole)
    if report.no_beginning:
        return NO_BEGINNING
    return HOLDS if report.passed else FAILS


def twin(root: Path, environment: str, program: str, arguments: Sequence[str]) -> int:
    """Becomes `program` in the environment of a kept twin; returns the exit code of a refusal."""
    errors = Console(stderr=True, soft_wrap=True, emoji=False)
    workspace = Workspace(root=root, environment=environment)
    try:
        stack_file(root, environment)
        run_in_twin(workspace, program, arguments, errors)
    except SettingsError as error:
        return _say(error, UNKNOWN, errors)
    except (RehearsalError, ToolchainError) as error:
        return _say(error, FAILS, errors)


def rehearse_stop(root: Path, environment: str) -> int:
    """Ends a rehearsal of `environment`, running or kept; returns the exit code."""
    errors = Console(stderr=True, soft_wrap=True, emoji=False)
    workspace = Workspace(root=root, environment=environment)
    try:
        if not workspace.directory.is_dir():
            stack_file(root, environment)
        ended = workspace.stop()
    except SettingsError as error:
        return _say(error, UNKNOWN, errors)
    except RehearsalError as error:
        return _say(error, FAILS, errors)
    if ended:
        print(f"Stopped the rehearsal of {environment}: {', '.join(ended)}.")  # noqa: T201  # its answer
    else:
        print(f"No rehearsal of {environment} is running.")  # noqa: T201  # its answer
    return HOLDS


def _refused(report: Report, error: Exception, code: int, *, errors: Console, as_json: bool) -> int:
    if as_json:
        known = replace(report, no_beginning=code == NO_BEGINNING)
        _print_json(known.failed(*str(error).splitlines()))
    return _say(error, code, errors)


def _say(error: Exception, code: int, errors: Console) -> int:
    errors.print(str(error), style="red", markup=False, highlight=False)
    return code


def _unexpected(error: Exception, workspace: Workspace) -> RehearsalError:
    log = workspace.directory / "logs" / "fleet.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(traceback.format_exception(error)))
    except OSError as unwritable:
        return RehearsalError(
            f"{unwritable.filename or log} cannot be used: {unwritable.strerror}."
        )
    return RehearsalError(
        f"The rehearsal failed with an internal error ({type(error).__name__}: {error}); "
        f"the traceback is in {log}."
    )


def _show(report: Report, *, as_json: bool, whole: bool) -> None:
    if as_json:
        _print_json(report)
        return
    show((render if whole else render_short)(report))
    if report.kept:
        show(Text(_how_to_use(report.environment)))


def _print_json(report: Report) -> None:
    print(json.dumps(report.as_json(), indent=2))  # noqa: T201  # the output itself


def _how_to_use(name: str) -> str:
    """Returns commands to type for a kept rehearsal."""
    fleet = "fleet" if shutil.which("fleet") else ".venv/bin/fleet"
    return "\n".join(
        [
            f"\n{name} is kept running. To look at it, and to run the program on it again:",
            f"  {fleet} twin {name} kubectl get nodes",
            f"  {fleet} twin {name} pulumi preview",
            f"After an edit of stacks/Pulumi.{name}.yaml, and to end it:",
            f"  {fleet} rehearse {name} --again",
            f"  {fleet} rehearse-stop {name}",
        ]
    )
