"""Implements `fleet preview`: its output and its exit code."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from engine.findings_log import FindingsLogError
from engine.interrupts import Interrupted, interruptible
from fleet.preview.engine import Preview, variables
from fleet.preview.markdown import DOCS, mark, markdown
from fleet.preview.rehearsal import RehearsalFileError, read
from fleet.preview.sarif_results import places
from fleet.preview.summary import Summary
from fleet.sarif import document
from policies.environment import load
from settings import SettingsError, stack_file
from toolchain.build import ToolchainError, ensure

HOLDS, STOPPED, UNKNOWN = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The options of a preview, besides the summary on standard output."""

    as_json: bool = False
    markdown: Path | None = None  # to this file, too, with the mark of a comment
    sarif: Path | None = None  # the findings, to this file
    rehearsal: Path | None = None  # a report to show beside it
    docs: str = DOCS  # the address of the page of all rules


def preview(root: Path, name: str, wanted: Wanted) -> int:
    """Previews an environment of the checkout at `root`; returns the exit code.

    Progress and refusals go to standard error, the summary to standard output.
    """
    errors = Console(stderr=True, soft_wrap=True, emoji=False)
    for target in filter(None, (wanted.markdown, wanted.sarif)):
        if not _takes(target):  # else it is told after minutes
            reason = f"{target} cannot be written; allowed: a file in a folder that is there."
            elsewhere = replace(wanted, markdown=None)
            return _refused(name, reason, UNKNOWN, errors, elsewhere)
    try:
        tracked = stack_file(root, name)
        rehearsed = read(wanted.rehearsal, name) if wanted.rehearsal else None
    except (SettingsError, RehearsalFileError) as error:
        return _refused(name, str(error), UNKNOWN, errors, wanted)
    try:
        environment = load(tracked)
        with interruptible():
            tools = ensure(("pulumi",), console=errors)
            engine = Preview(
                root=root,
                environment=environment,
                stack_file=tracked,
                pulumi=tools.path("pulumi"),
                variables=variables(tools),
            )
            with errors.status("pulumi preview") as now:
                summary = engine.run(lambda n: now.update(f"pulumi preview: {n} resources"))
    except (SettingsError, ToolchainError, FindingsLogError) as error:
        return _refused(name, str(error), STOPPED, errors, wanted)
    except Interrupted as interrupted:
        return interrupted.exit_code
    summary = replace(summary, rehearsal=rehearsed)
    if wanted.sarif:
        _write_json(document(summary.verdicts, places(tracked, root)), wanted.sarif)
    _show(summary, engine.log, errors, wanted)
    return HOLDS if summary.holds else STOPPED


def _show(summary: Summary, log: Path, errors: Console, wanted: Wanted) -> None:
    text = markdown(summary, wanted.docs)
    if wanted.markdown:
        wanted.markdown.write_text(f"{mark(summary.environment)}\n{text}")
    for reason in summary.errors:
        errors.print(reason, style="red", markup=False, highlight=False)
    if wanted.as_json:
        print(json.dumps(summary.as_json(), indent=2))  # noqa: T201  # the output itself
    elif not summary.errors:
        print(text, end="")  # noqa: T201  # the output itself
    errors.print(f"The engine's own words are in {log}.", style="dim", markup=False)


def _takes(target: Path) -> bool:
    """Returns whether the file is writable; does not change it."""
    is_new = not target.exists()
    try:
        target.open("a", encoding="utf-8").close()
    except OSError:
        return False
    if is_new:
        target.unlink()
    return True


def _refused(environment: str, reason: str, code: int, errors: Console, wanted: Wanted) -> int:
    errors.print(reason, style="red", markup=False, highlight=False)
    told = reason.splitlines()
    if wanted.as_json:
        refusal = {"environment": environment, "holds": False, "errors": told}
        print(json.dumps(refusal, indent=2))  # noqa: T201  # the output itself
    if wanted.markdown:
        lines = "\n".join(f"- ⛔ {line}" for line in told)
        headline = f"### ⛔ Preview of `{environment}`: stopped"
        wanted.markdown.write_text(f"{mark(environment)}\n{headline}\n\n{lines}\n")
    return code


def _write_json(content: object, target: Path) -> None:
    target.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
