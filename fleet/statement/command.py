"""Implements `fleet statement`: where statements and keys are, output and exit codes."""

import getpass
import json
import os
import re
import sys
from pathlib import Path

from fleet.statement.envelope import EncryptedKeyError, StatementError, sign
from fleet.statement.verifying import Verified, Wanted, read_statement, verify
from rehearsal.workspace import Workspace
from settings import stack_file
from settings.parse import load

PASSPHRASE = "FLEET_KEY_PASSPHRASE"  # noqa: S105  # the name of a variable


class WrongInputError(ValueError):
    """What is given has nothing that could be verified."""


def sign_last(root: Path, environment: str, key: Path, output: Path | None) -> Path:
    """Signs the statement of the last rehearsal; returns the file with the envelope.

    Raises StatementError for one that no verification would take.
    """
    stack_file(root, environment)
    workspace = Workspace(root=root, environment=environment)
    path = workspace.statement
    if not path.exists():
        raise StatementError(
            f"{environment} has no statement here: `fleet rehearse {environment}` makes one."
        )
    text = path.read_bytes()
    try:
        predicate = read_statement(text)["predicate"]
    except StatementError as error:
        raise StatementError(
            f"{path} cannot be signed; `fleet rehearse {environment}` makes it anew. {error}"
        ) from None
    if predicate.get("dirty") is not False:
        raise StatementError(
            f"{environment} was rehearsed in a checkout with changes that no commit has, or "
            "without git: commit them and rehearse again."
        )
    if predicate.get("passed") is not True:
        problems = predicate["problems"] or ["nothing says why"]
        raise StatementError(f"The rehearsal of {environment} failed: {problems[0]}")
    target = output or workspace.signed_statement
    target.write_text(json.dumps(_signed(text, key), indent=1) + "\n", encoding="utf-8")
    return target


def on_a_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()


def _signed(text: bytes, key: Path) -> dict[str, object]:
    """Asks for the passphrase where the key has one that the environment does not name."""
    private = key.read_bytes()
    given = os.environ.get(PASSPHRASE)
    try:
        return sign(text, private, given)
    except EncryptedKeyError as error:
        if given:
            raise StatementError(f"{key} ({PASSPHRASE} is set): {error}") from None
        if not on_a_terminal():
            raise StatementError(
                f"{key} is encrypted, and nobody can be asked here: set {PASSPHRASE}."
            ) from None
        return sign(text, private, getpass.getpass(f"Passphrase of {key}: "))
    except StatementError as error:
        raise StatementError(f"{key}: {error}") from None


def verify_file(
    root: Path, environment: str, file: Path, *, commit: str, from_this_run: bool
) -> Verified:
    """Judges the statement in a file by the stack file of the checkout at `root`."""
    if not re.fullmatch("[0-9a-f]{40}", commit):
        raise WrongInputError(
            f'--commit is "{commit}"; allowed: the 40 digits that `git rev-parse HEAD` prints.'
        )
    tracked = stack_file(root, environment)
    wanted = Wanted(
        environment=environment,
        commit=commit,
        stack_file=tracked,
        keys=load(tracked).rehearsal.keys,
        from_this_run=from_this_run,
    )
    try:
        text = file.read_text(encoding="utf-8")
        json.loads(text)
    except ValueError:
        raise WrongInputError(f"{file} is not JSON: it has no statement.") from None
    return verify(text, wanted)
