"""What is being done and how long it took: a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console


class _Clock:
    """A text with the seconds since its start, drawn anew by every turn of the spinner."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def __rich__(self) -> str:
        return f"{self.text} … {self.seconds:.0f} s"


class Progress:
    """Tells `console`, or nobody, about the steps of a build."""

    def __init__(self, console: Console | None) -> None:
        self.console = console

    def say(self, text: str) -> None:
        """Prints one line."""
        if self.console:
            self.console.print(f"toolchain: {text}", markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Shows that `text` is being done, and prints how long it took when it is done."""
        clock = _Clock(f"toolchain: {text}")
        if self.console and self.console.is_terminal:
            with self.console.status(clock):
                yield
        else:
            self.say(f"{text} …")
            yield
        self.say(f"{text}: {clock.seconds:.1f} s")
