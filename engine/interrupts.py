"""Turns Ctrl-C, `kill` and a closed terminal into an exception, so that a command ends in order.

A signal raises `Interrupted` in the main thread, but not inside `shielded()`: a process that was
started and not yet recorded would be lost, and a stop that is cut short would leave processes.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = (20.0, 5.0)


class Interrupted(KeyboardInterrupt):
    """A signal ended the command; `exit_code` is the one that shells expect (130 for Ctrl-C)."""

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
    """Raise `Interrupted` for the signals that end a command, while the block runs."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        if number == signal.SIGHUP and before[number] == signal.SIG_IGN:
            continue  # under nohup the command outlives its terminal
        signal.signal(number, _received)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shielded(*, forget: bool = False) -> Iterator[None]:
    """Delay signals until the block is done; with `forget`, drop them."""
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
        if not _State.depth:
            number, _State.pending = _State.pending, None
            if number is not None and not forget:
                raise Interrupted(number)


def wait(process: subprocess.Popen[bytes], each_time: Callable[[], None]) -> int:
    """Wait for the exit code of an engine; if this command is ended, end the engine first.

    One SIGINT lets its running steps finish, a second one cancels them; both free the stack's lock,
    which a killed engine leaves.
    """
    try:
        while process.poll() is None:
            each_time()
            time.sleep(0.05)
    except Interrupted:
        with shielded(forget=True):
            _end(process)
        raise
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    for patience_s in PATIENCE_S:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            continue
        return
    process.kill()
    process.wait()
