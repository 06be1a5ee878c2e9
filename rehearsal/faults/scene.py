"""Where a fault is put in: the twin, its gangs, and a clock that adds what was shortened."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rehearsal.api import Api
from rehearsal.controllers.controller import Controllers, started
from rehearsal.faults.work import Gang, Now, latest
from rehearsal.moves.watch import Watch
from rehearsal.processes import Processes


@dataclass(kw_only=True)
class Clock:
    """Real seconds from those of the watch: at some moments so many were left out."""

    left_out: list[tuple[float, float, str]] = field(default_factory=list)

    def leave_out(self, at_s: float, seconds: float, what: str) -> None:
        """Note that at this moment of the watch so many seconds were left out, and of what."""
        self.left_out.append((at_s, seconds, what))

    def real(self, at_s: float) -> float:
        """Return the seconds of a moment with everything that was left out before it."""
        return at_s + sum(seconds for then, seconds, _ in self.left_out if then <= at_s)

    def between(self, begin_s: float, end_s: float) -> float:
        """Return the real seconds between two moments of the watch."""
        return self.real(end_s) - self.real(begin_s)

    def twin(self, began_s: float, after_s: float) -> float:
        """Return the moment of the watch that is so many real seconds after another one."""
        at_s = began_s
        for then, seconds, _ in sorted(self.left_out):
            if then < began_s:
                continue
            if after_s < then - at_s:
                break
            after_s -= then - at_s
            at_s = then
            if after_s < seconds:
                return then
            after_s -= seconds
        return at_s + after_s


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The twin in `directory` while its gangs run."""

    api: Api
    directory: Path
    processes: Processes
    controllers: Controllers
    watch: Watch
    gangs: tuple[Gang, ...]
    clock: Clock = field(default_factory=Clock)

    @property
    def now(self) -> Now:
        """What was seen last."""
        return latest(self.watch)

    def gang(self, *, rented: bool) -> Gang | None:
        """The gang on rented, or on owned, machines."""
        return next((gang for gang in self.gangs if gang.rented == rented), None)

    def start_ended(self) -> list[str]:
        """Start the controllers that have ended, as their kubelets do; return their names."""
        running = self.processes.running()
        ours = [name for name in self.processes.controllers if name not in running]
        of_charts = [each for each in started(self.directory) if each.name not in running]
        charts = {each.name for each in of_charts}
        for name in ours:
            if name not in charts:
                self.processes.start_again(name)
        self.controllers.start(of_charts)
        return sorted({*ours, *charts})


@dataclass(frozen=True, kw_only=True)
class Hit:
    """What a fault hits: in words, the nodes that it concerns, and the gang on them."""

    words: str
    nodes: frozenset[str] = frozenset()
    gang: Gang | None = None
    may_restart: bool = True
    """False where the gang should go on as if nothing had been."""
    asks_s: float | None = None
    """When the gang asked for its first machines, on the watch, where it did not run before."""


class Fault(Protocol):
    """A fault that can be put in once."""

    limit_s: float
    """Within so many seconds of the twin the fleet must be well again."""

    def inject(self, scene: Scene, /) -> Hit:
        """Put it in; raises RehearsalError where there is nothing that it could hit."""

    def step(self, scene: Scene, /) -> None:
        """Go on with it, several times a second: a second part, or its end."""

    def over(self, scene: Scene, /) -> bool:
        """Whether the fault has ended and whatever it took is there again, but for the gangs."""

    def end(self, scene: Scene, /) -> None:
        """End it, if it lasts."""

    def mended_s(self) -> float | None:
        """When somebody mended it, on the watch; None for a fault that the fleet mends itself."""
