"""What ends a rehearsal: one sentence for the user, never a traceback."""

from __future__ import annotations


class RehearsalError(RuntimeError):
    """A rehearsal cannot go on; the text is a sentence with the way out."""


class UnknownEnvironmentError(RehearsalError):
    """The environment that was asked for has no stack file."""
