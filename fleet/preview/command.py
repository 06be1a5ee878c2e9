"""`fleet preview`: what it prints and the exit code that it ends with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.console import Console

from fleet.preview.engine import Preview, variables
from fleet.preview.markdown import markdown
from fleet.settings import SettingsError, load, stack_file
from policies.configuration import PolicyConfigError
from rehearsal.interrupts import Interrupted, interruptible
from toolchain.build import ensure
from toolchain.errors import ToolchainError

if TYPE_CHECKING:
    from pathlib import Path

    from fleet.preview.summary import Summary

HOLDS, STOPPED, UNKNOWN = 0, 1, 2


def preview(root: Path, environment: str, *, as_json: bool, target: Path | None) -> int:
    """Previews an environment of the checkout at `root`; returns the exit code.

    Progress and refusals go to standard error, the summary to standard output and, as Markdown, to
    `target`.
    """
    errors = Console(stderr=True, soft_wrap=True)
    try:
        tracked = stack_file(root, environment)
    except SettingsError as error:
        return _refused(environment, str(error), UNKNOWN, errors, target)
    try:
        settings = load(tracked)
        with interruptible():
            tools = ensure(("pulumi",), console=errors)
            engine = Preview(
                root=root,
                settings=settings,
                stack_file=tracked,
                pulumi=tools.path("pulumi"),
                variables=variables(tools),
            )
            with errors.status("pulumi preview") as now:
                summary = engine.run(lambda n: now.update(f"pulumi preview: {n} resources"))
    except (SettingsError, PolicyConfigError, ToolchainError) as error:
        return _refused(environment, str(error), STOPPED, errors, target)
    except Interrupted as interrupted:
        return interrupted.exit_code
    _show(summary, engine.log, errors, as_json=as_json, target=target)
    return HOLDS if summary.holds else STOPPED


def _show(
    summary: Summary, log: Path, errors: Console, *, as_json: bool, target: Path | None
) -> None:
    text = markdown(summary)
    if target:
        target.write_text(text)
    for reason in summary.errors:
        errors.print(reason, style="red", markup=False, highlight=False)
    if as_json:
        print(json.dumps(summary.as_json(), indent=2))  # noqa: T201  # the output itself
    elif not summary.errors:
        print(text, end="")  # noqa: T201  # the output itself
    errors.print(f"The engine's own words are in {log}.", style="dim", markup=False)


def _refused(environment: str, reason: str, code: int, errors: Console, target: Path | None) -> int:
    errors.print(reason, style="red", markup=False, highlight=False)
    if target:
        lines = "\n".join(f"- ⛔ {line}" for line in reason.splitlines())
        target.write_text(f"### ⛔ Preview of `{environment}`: stopped\n\n{lines}\n")
    return code
