"""Runs `kubectl` or `pulumi` in the environment of a kept twin.

The program takes the place of this one, so the shell keeps its own settings.
"""

import os
from collections.abc import Sequence
from typing import NoReturn

from rich.console import Console

from rehearsal.engine import Engine
from rehearsal.errors import RehearsalError
from rehearsal.processes import MARK
from rehearsal.twin import kept_engine
from rehearsal.workspace import Workspace
from toolchain.build import ensure

PROGRAMS = ("kubectl", "pulumi")
UPDATES = ("up", "update", "preview", "pre")
OF_THE_STACK_FILE = (*UPDATES, "config", "destroy", "import", "refresh", "watch")
# Pulumi would remove or rewrite the tracked stack file, which is not the twin's.
OF_A_PART = ("-t", "-x", "--target", "--exclude")  # also --target-replace and the like
REFUSED = ("change-secrets-provider", "init", "rename", "rm")


def run_in_twin(
    workspace: Workspace, program: str, arguments: Sequence[str], console: Console
) -> NoReturn:
    """Become the program; raises RehearsalError where there is no such program or no kept twin."""
    if program not in PROGRAMS:
        raise RehearsalError(f'"{program}" does not run in a twin; allowed: {", ".join(PROGRAMS)}.')
    workspace.resume()
    tools = ensure(("pulumi", program) if program != "pulumi" else ("pulumi",), console=console)
    engine = kept_engine(workspace, tools)
    if program == "pulumi":
        arguments = of_pulumi(engine, arguments)
        os.chdir(engine.root)  # the program is there
    environment = {
        **engine.environment,
        "KUBECONFIG": str(engine.directory / "kubeconfig"),
        "PULUMI_STACK": engine.environment_name,
        MARK: str(engine.directory),  # the end of the twin ends it, too
    }
    os.execve(tools.path(program), (program, *arguments), environment)  # noqa: S606  # no shell


def of_pulumi(engine: Engine, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments with what names the twin's stack file and, for an update, the rules."""
    verb, *rest = arguments or ("",)
    if "--remove" in rest or (verb == "stack" and set(rest[:1]) & set(REFUSED)):
        raise RehearsalError(
            f"`pulumi {' '.join(arguments)}` would change the tracked stack file; "
            f"`fleet rehearse-stop {engine.environment_name}` ends the twin."
        )
    parts = [word for word in rest if word.startswith(OF_A_PART)]
    if verb in UPDATES and parts:
        raise RehearsalError(
            f"`pulumi {verb} {parts[0]}` shows the rules a part of the stack, and many judge the "
            f"whole of it; `fleet twin {engine.environment_name} pulumi {verb}` without it changes "
            "only what differs."
        )
    if verb not in OF_THE_STACK_FILE:
        return tuple(arguments)
    return (verb, *engine.arguments, *(engine.rules if verb in UPDATES else ()), *rest)
