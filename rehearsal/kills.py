"""An update whose engine is killed at random steps, and goes on as `fleet resume` does.

Each kill takes the engine with its language host, program and policy pack, all at once, as a power
cut does. The simulated clouds live on, and refuse a second thing of a name as the real ones do. The
controllers of the control plane are killed, too, each once, and started again while the last
update runs. An update more must find nothing to do. Those of charts and our own, which then have
nothing to do, are killed while a gang rents (`rehearsal.killed_controllers`).
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from engine.events import Outcome
from rehearsal.accounting import Accounts, compare
from rehearsal.cloud_apis import served, wait_for_calls
from rehearsal.engine import Engine, EngineKilledError
from rehearsal.extras import Extras, WentOn
from rehearsal.twin import Twin

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Kill:
    """The engine was killed when `made` resources were there, in the middle of others."""

    made: int
    found: tuple[str, ...]
    not_there: tuple[str, ...]
    useless: tuple[str, ...]
    seconds: float  # until the next update could begin
    uninstalled: tuple[str, ...] = ()  # releases that Helm had begun to install


@dataclass(frozen=True, kw_only=True)
class Kills:
    """All kills of one rehearsal, and what they have left."""

    seed: int
    resources: int
    kills: tuple[Kill, ...] = ()
    restarted: tuple[str, ...] = ()  # controllers
    doubled: tuple[str, ...] = ()
    orphaned: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()  # of the update that should have none
    unfinished: bool = False  # an update did not go on, and nobody has counted what there is

    def problems(self) -> Iterator[str]:
        """Yields a sentence for each way in which a kill has done harm."""
        if self.unfinished:
            yield (
                f"The update did not go on after {len(self.kills)} kills; --seed {self.seed} kills "
                "at the same steps."
            )
        harms = {
            "in its cloud twice": self.doubled,
            "in its cloud and in no state": self.orphaned,
            "in the state and not in its cloud": self.missing,
            "changed by an update that should find nothing to do": self.changes,
        }
        for what, names in harms.items():
            if names:
                yield f"After the kills (seed {self.seed}), {what}: {', '.join(names)}."


@dataclass(kw_only=True)
class KilledUpdate:
    """The update of a twin, killed and gone on with; `resources` is how many there will be."""

    twin: Twin
    extras: Extras
    resources: int
    say: Progress
    kills: list[Kill] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)

    def run(self) -> tuple[Outcome, Kills]:
        """Updates until nothing is left to do; returns the last update that did something."""
        chosen = random.Random(self.extras.seed)  # noqa: S311  # steps that a seed repeats, no secret
        steps = sorted(chosen.randrange(1, self.resources) for _ in range(self.extras.kills))
        engine = self.twin.engine.with_checkpoints()
        for step in steps:
            self._killed(engine, step)
        last = self._last(engine, chosen)
        self.say("an update more")
        changes = engine.up(lambda _done: None).changes
        accounts = self._accounts(engine)
        return last, replace(
            self.so_far,
            unfinished=False,
            doubled=accounts.doubled,
            orphaned=accounts.orphaned,
            missing=accounts.missing,
            changes=tuple(f"{each.op} {each.type} {each.name}" for each in changes),
        )

    @property
    def so_far(self) -> Kills:
        """The kills of an update that has not come to its end."""
        return Kills(
            seed=self.extras.seed,
            resources=self.resources,
            kills=tuple(self.kills),
            restarted=tuple(self.restarted),
            unfinished=True,
        )

    def _killed(self, engine: Engine, step: int) -> None:
        """Updates until `step` resources are made, kills the engine, and settles its state.

        Where an update ends before, it is run again, and killed as soon as it begins.
        """
        made = -1
        while made < 0:
            before = _made(engine)

            def at_step(done: Outcome, before: int = before) -> None:
                now = before + done.steps["create"]
                self.say(f"{now} of {self.resources} resources, kill at {step}")
                if now >= min(step, self.resources - 1):
                    engine.kill()

            try:
                engine.up(at_step)
            except EngineKilledError as killed:
                made = before + killed.outcome.steps["create"]
        started = time.monotonic()
        wait_for_calls(engine.directory)
        with served(engine.directory) as hetzner:
            went_on = self.extras.go_on(engine, hetzner)
        self.kills.append(_kill(made, went_on, time.monotonic() - started))

    def _last(self, engine: Engine, chosen: random.Random) -> Outcome:
        """Updates to the end; meanwhile each controller is killed and started again."""
        names = chosen.sample(engine.processes.controllers, len(engine.processes.controllers))
        due = sorted((chosen.randrange(1, self.resources), name) for name in names)

        def restart(done: Outcome) -> None:
            self.say(f"{done.finished} of {self.resources} resources")
            while due and done.finished >= due[0][0]:
                name = due.pop(0)[1]
                engine.processes.restart(name)
                self.restarted.append(name)

        last = engine.up(restart)
        for _, name in due:
            engine.processes.restart(name)
            self.restarted.append(name)
        return last

    def _accounts(self, engine: Engine) -> Accounts:
        held = self.twin.lakefs()
        repositories = [each.name for each in held.repositories] if held else []
        api = self.twin.control_plane.api
        return compare(engine.state(), engine.directory, api, repositories)


def _made(engine: Engine) -> int:
    """Returns how many resources the state has, without the stack and providers."""
    return sum(not str(each["type"]).startswith("pulumi:") for each in engine.state())


def _kill(made: int, went_on: WentOn, seconds: float) -> Kill:
    return Kill(
        made=made,
        found=went_on.found,
        not_there=went_on.not_there,
        useless=went_on.useless,
        seconds=round(seconds, 1),
        uninstalled=went_on.uninstalled,
    )
