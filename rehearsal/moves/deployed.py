"""Which commit is deployed: `git.head` of the last update in the stack's history.

The engine writes down commit and dirtiness of the checkout that it runs in, and how the update
ended: `succeeded`, `failed` or `in-progress` (pulumi v3.220.0, pkg/cmd/pulumi/metadata/metadata.go,
pkg/cmd/pulumi/stack/stack_history.go and pkg/backend/updates.go).
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from rich.console import Console

from engine.backend_help import backend_help
from rehearsal.errors import RehearsalError
from toolchain.build import ensure

DEPLOYED = "deployed"
"""What a user says for it in place of a commit."""
HEAD, DIRTY = "git.head", "git.dirty"
SUCCEEDED = "succeeded"
ENTRIES = "200"
"""As many entries of the history are read: refreshes and the like may stand before the update."""


def deployed_commit(root: Path, environment: str) -> str:
    """Return the commit that the user's own stack was last updated from."""
    return head_of(environment, _history(root, environment))


def head_of(environment: str, history: list[dict[str, Any]]) -> str:
    """Return the commit of the last update, the newest entry first.

    Raises RehearsalError where no commit is what is deployed.
    """
    made = (each for each in history if each.get("kind") in ("update", "destroy"))
    last = next(made, None)
    if last is None or last["kind"] == "destroy":
        why = "was destroyed" if last else "has no update in its history"
        raise RehearsalError(f"--from deployed: the stack {environment} {why}.")
    result = last.get("result")
    if result != SUCCEEDED:
        raise RehearsalError(
            f"--from deployed: the last update of {environment} has the result "
            f'"{result or "none"}", so no commit is what is deployed; allowed: "{SUCCEEDED}". Name '
            "a commit itself, or update first."
        )
    told = last.get("environment") or {}
    if HEAD not in told:
        raise RehearsalError(
            f"--from deployed: the last update of {environment} was made outside a git repository; "
            "name the commit itself."
        )
    commit = str(told[HEAD])
    if told.get(DIRTY) == "true":
        raise RehearsalError(
            f"--from deployed: the last update of {environment} had changes beside its commit "
            f"{commit[:12]} (git.dirty), so no commit is what is deployed; name one itself, or "
            "update from a clean checkout first."
        )
    return commit


def unreadable(environment: str, stderr: str) -> str:
    """Return why the history cannot be read, and what helps."""
    said = (stderr.strip().splitlines() or ["it said nothing"])[-1].removeprefix("error: ")
    return (
        f"--from deployed: the history of the stack {environment} cannot be read. "
        f"{backend_help(environment, said)}"
    )


def _history(root: Path, environment: str) -> list[dict[str, Any]]:
    """Ask the user's own backend, with the user's own login."""
    tools = ensure(("pulumi",), console=Console(stderr=True, emoji=False))
    words = ("stack", "history", f"--stack={environment}", "--json", f"--page-size={ENTRIES}")
    found = subprocess.run(
        (str(tools.path("pulumi")), *words, "--non-interactive"),
        cwd=root,
        env={**os.environ, **tools.environment()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        raise RehearsalError(unreadable(environment, found.stderr))
    return list(json.loads(found.stdout))
