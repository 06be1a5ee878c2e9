"""Ctrl-C, `kill` and a closed terminal end a rehearsal in order, never in the middle of a start.

A signal raises `Interrupted` in the main thread, but not inside `shielded()`: a process that was
started and not yet on record would be lost, and a stop that is cut short would leave half behind.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """Someone ended the command; `exit_code` is what a shell expects of it (130 after Ctrl-C)."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class _State:
    depth = 0
    pending: int | None = None


def _received(number: int, _frame: FrameType | None) -> None:
    if _State.depth:
        _State.pending = number
        return
    raise Interrupted(number)


@contextmanager
def interruptible() -> Iterator[None]:
    """Turns the signals that end a command into `Interrupted` while the block runs."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        if number == signal.SIGHUP and before[number] == signal.SIG_IGN:
            continue  # nohup: the caller wants it to outlive the terminal
        signal.signal(number, _received)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shielded(*, forget: bool = False) -> Iterator[None]:
    """Holds a signal back until the block is done; with `forget`, such a signal is dropped."""
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
        if not _State.depth:
            number, _State.pending = _State.pending, None
            if number is not None and not forget:
                raise Interrupted(number)
