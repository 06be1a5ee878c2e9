"""At which steps an update is killed, and what is done between the kills."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import rehearsal.kills
from engine.events import Change, Outcome
from rehearsal.engine import Engine, EngineKilledError
from rehearsal.errors import RehearsalError
from rehearsal.extras import Extras, TakenDown, WentOn
from rehearsal.kills import KilledUpdate, Kills
from rehearsal.twin import Twin

RESOURCES = 20


@pytest.fixture(autouse=True)
def no_provider_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal.kills, "wait_for_calls", lambda _directory: None)


@dataclass
class FakeEngine:
    """Makes one resource after another, until it is killed."""

    directory: Path
    made: int = 0
    last_changes: list[Change] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    killed: bool = False
    breaks_at: int | None = None

    @property
    def processes(self) -> Any:
        return SimpleNamespace(
            controllers=("kwok", "machine-loop"),
            restart=lambda name: self.told.append(f"restart {name}"),
        )

    def with_checkpoints(self) -> "FakeEngine":
        self.told.append("checkpoints")
        return self

    def kill(self) -> None:
        self.killed = True

    def up(self, progress: Callable[[Outcome], None]) -> Outcome:
        before, outcome = self.made, Outcome()
        for number in range(RESOURCES):
            outcome.finished += 1
            outcome.steps["same" if number < before else "create"] += 1
            self.made = max(self.made, number + 1)
            progress(outcome)
            if self.breaks_at == number:
                raise RehearsalError("it broke")
            if self.killed:
                self.killed = False
                self.told.append(f"killed at {self.made}")
                raise EngineKilledError("killed", outcome)
        outcome.changes = self.last_changes
        self.told.append("ended")
        return outcome

    def state(self) -> list[dict[str, Any]]:
        return [
            {"urn": f"urn::{number}", "type": "gpu:pools:Pool"} for number in range(self.made)
        ] + [{"urn": "urn::stack", "type": "pulumi:pulumi:Stack"}]


def update_of(engine: FakeEngine, times: int, seed: int) -> KilledUpdate:
    def go_on(_engine: Engine, hetzner: str) -> WentOn:
        engine.told.append("resumed")
        assert hetzner.startswith("http://127.0.0.1:")
        return WentOn(found=("Server a",), not_there=(), useless=())

    def take_down(*_given: object) -> TakenDown:
        raise AssertionError

    api = SimpleNamespace(get=lambda _path: {}, items=lambda _path: [])
    twin = SimpleNamespace(
        engine=engine, control_plane=SimpleNamespace(api=api), lakefs=lambda: None
    )
    return KilledUpdate(
        twin=cast("Twin", twin),
        extras=Extras(go_on=go_on, take_down=take_down, kills=times, seed=seed),
        resources=RESOURCES,
        say=lambda _text: None,
    )


def killed(engine: FakeEngine, times: int, seed: int = 1) -> Kills:
    _, kills = update_of(engine, times, seed).run()
    return kills


def test_each_kill_is_followed_by_what_resume_does_and_the_rest_is_made(tmp_path: Path) -> None:
    engine = FakeEngine(tmp_path)
    kills = killed(engine, 3)
    assert engine.told[0] == "checkpoints"
    counted = Counter(word.partition(" at")[0] for word in engine.told)
    assert (counted["killed"], counted["resumed"], counted["ended"]) == (3, 3, 2)
    made = [kill.made for kill in kills.kills]
    assert made == sorted(made)
    assert (len(made), made[-1] < RESOURCES) == (3, True)
    assert [*kills.problems()] == []


def test_the_same_seed_kills_at_the_same_steps(tmp_path: Path) -> None:
    first, again = (killed(FakeEngine(tmp_path), 4, seed=7).kills for _ in range(2))
    other = killed(FakeEngine(tmp_path), 4, seed=8).kills
    assert [k.made for k in first] == [k.made for k in again] != [k.made for k in other]


def test_each_controller_is_killed_once_while_the_last_update_runs(tmp_path: Path) -> None:
    engine = FakeEngine(tmp_path)
    kills = killed(engine, 1)
    assert {*kills.restarted} == {"kwok", "machine-loop"}
    restarts = [at for at, word in enumerate(engine.told) if word.startswith("restart")]
    assert max(restarts) < engine.told.index("ended")


def test_an_update_more_that_changes_something_is_a_problem(tmp_path: Path) -> None:
    change = Change(op="update", type="kubernetes:core/v1:Secret", name="key")
    kills = killed(FakeEngine(tmp_path, last_changes=[change]), 1)
    (problem,) = kills.problems()
    assert problem.endswith("nothing to do: update kubernetes:core/v1:Secret key.")


def test_what_was_killed_before_an_update_that_fails_is_kept_with_its_seed(tmp_path: Path) -> None:
    engine = FakeEngine(tmp_path, breaks_at=RESOURCES - 1)
    update = update_of(engine, 2, seed=7)
    with pytest.raises(RehearsalError):
        update.run()
    kills = update.so_far
    assert (kills.seed, len(kills.kills), kills.unfinished) == (7, 2, True)
    (problem,) = kills.problems()
    assert problem == ("The update did not go on after 2 kills; --seed 7 kills at the same steps.")
