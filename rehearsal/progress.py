"""Shows the phases of a rehearsal: a live line on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.text import Text


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A finished phase and how long it took."""

    name: str
    seconds: float


class RunningPhase:
    """A phase while it runs."""

    def __init__(self, name: str, console: Console) -> None:
        self.name = name
        self.detail = ""
        self.mark = "[green]✓[/]"
        self._console = console
        self._started = time.monotonic()
        self._spinner = Spinner("dots", style="green")

    @property
    def seconds(self) -> float:
        """The seconds since its start."""
        return time.monotonic() - self._started

    def say(self, detail: str) -> None:
        """Set the detail of the phase, such as "31 of 57 resources"."""
        self.detail = detail

    def fail(self, detail: str) -> None:
        """End the phase with a cross and this detail; the next phase follows all the same."""
        self.detail, self.mark = detail, "[red]✗[/]"

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the phase on the last line of a terminal; elsewhere print its name once."""
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


class Progress:
    """Prints phases to `console` (standard error) and records their times."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.phases: list[Phase] = []
        self._now: RunningPhase | None = None

    @contextmanager
    def phase(self, name: str) -> Iterator[RunningPhase]:
        """Run one phase; its last detail is printed behind its time."""
        self._now = now = RunningPhase(name, self.console)
        try:
            with now.shown():
                yield now
        except BaseException:
            self.console.print(f"[red]✗[/] {name} [dim]{now.seconds:.1f} s[/]", highlight=False)
            raise
        self.phases.append(Phase(name=name, seconds=now.seconds))
        text = f"{now.mark} {name} [dim]{now.seconds:.1f} s[/] {escape(now.detail)}"
        self.console.print(text.rstrip(), highlight=False)

    @property
    def current(self) -> str:
        """The name of the phase that runs, or of the last one."""
        return self._now.name if self._now else "the start"

    def note(self, text: str) -> None:
        """Print one line between the phases."""
        self.console.print(text, highlight=False, markup=False)
