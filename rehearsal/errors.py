"""Errors of a rehearsal: each is one sentence for the user, never a traceback."""


class RehearsalError(RuntimeError):
    """A rehearsal cannot go on; the text is a sentence with the way out."""


class NoBeginningError(RehearsalError):
    """A change cannot be rehearsed from its commit; without `--from` the environment may be."""


class NothingToHitError(RehearsalError):
    """A fault is asked for that the settings of the environment leave nothing to hit."""


class RefusedError(RehearsalError):
    """A cloud or an API server refuses a request; nothing was created or changed.

    `summary` goes into the log of calls, so it holds no property values.
    """

    def __init__(self, sentence: str, *, summary: str = "refused") -> None:
        super().__init__(sentence)
        self.summary = summary
