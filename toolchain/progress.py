"""Shows the steps of a build and their times: a spinner on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


class _Clock:
    """A text with the seconds since its start, which the spinner redraws."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def __rich__(self) -> str:
        return f"{self.text} … {self.seconds:.0f} s"


class Progress:
    """Prints the steps of a build to `console`; to nothing without one."""

    def __init__(self, console: Console | None) -> None:
        self.console = console

    def say(self, text: str) -> None:
        """Print one line."""
        if self.console:
            self.console.print(f"toolchain: {text}", markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Show the step `text` while the block runs, then print how long it took."""
        clock = _Clock(f"toolchain: {text}")
        if self.console and self.console.is_terminal:
            with self.console.status(clock):
                yield
        else:
            self.say(f"{text} …")
            yield
        self.say(f"{text}: {clock.seconds:.1f} s")
