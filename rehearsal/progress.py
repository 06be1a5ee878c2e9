"""What a rehearsal is doing now: one live line on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A finished phase and how long it took."""

    name: str
    seconds: float


class Progress:
    """Tells phases on `console` (standard error) and keeps their times."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.phases: list[Phase] = []
        self._now: _Now | None = None

    @contextmanager
    def phase(self, name: str) -> Iterator[_Now]:
        """Runs one phase; what it says last stands behind its time."""
        self._now = now = _Now(name, self.console)
        try:
            with now.shown():
                yield now
        except BaseException:
            self.console.print(f"[red]✗[/] {name} [dim]{now.seconds:.1f} s[/]", highlight=False)
            raise
        self.phases.append(Phase(name=name, seconds=now.seconds))
        text = f"[green]✓[/] {name} [dim]{now.seconds:.1f} s[/] {escape(now.detail)}"
        self.console.print(text.rstrip(), highlight=False)

    @property
    def current(self) -> str:
        """The name of the phase that runs or ran last."""
        return self._now.name if self._now else "the start"

    def note(self, text: str) -> None:
        """One line beside the phases."""
        self.console.print(text, highlight=False, markup=False)


class _Now:
    """The phase that runs."""

    def __init__(self, name: str, console: Console) -> None:
        self.name = name
        self.detail = ""
        self._console = console
        self._started = time.monotonic()
        self._spinner = Spinner("dots", style="green")

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self._started

    def say(self, detail: str) -> None:
        """What the phase has reached, such as "31 of 57 resources"."""
        self.detail = detail

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows it on the last line of a terminal, or its name on a line of its own elsewhere."""
        if not self._console.is_terminal:
            self._console.print(f"… {self.name}", highlight=False)
            yield
            return
        with Live(
            get_renderable=self._line, console=self._console, transient=True, refresh_per_second=8
        ):
            yield

    def _line(self) -> Spinner:
        text = f"{self.name} [dim]{self.seconds:.0f} s[/] {escape(self.detail)}"
        self._spinner.update(text=Text.from_markup(text))
        return self._spinner
