"""At which steps an update is killed, and what is done between the kills."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import rehearsal.kills
from engine.events import Change, Outcome
from rehearsal.controllers import controller
from rehearsal.controllers.controller import Controller, Controllers
from rehearsal.engine import Engine, EngineKilledError
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

    @property
    def processes(self) -> Any:
        return SimpleNamespace(
            controllers=("kwok", "machine-loop"),
            restart=lambda name: self.told.append(f"restart {name}"),
            kill=lambda name: self.told.append(f"kill {name}"),
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


def killed(engine: FakeEngine, times: int, seed: int = 1) -> Kills:
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
    controllers = SimpleNamespace(
        start=lambda wanted: engine.told.extend(f"start {each.name}" for each in wanted)
    )
    _, kills = KilledUpdate(
        twin=cast("Twin", twin),
        controllers=cast("Controllers", controllers),
        extras=Extras(go_on=go_on, take_down=take_down, kills=times, seed=seed),
        resources=RESOURCES,
        say=lambda _text: None,
    ).run()
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


def test_a_controller_of_a_chart_is_killed_and_started_as_its_release_starts_it(
    tmp_path: Path,
) -> None:
    found = Controller(
        name="volcano-scheduler",
        system="volcano",
        namespace="volcano-system",
        service_account="volcano-scheduler",
        command=("vc-scheduler",),
    )
    record = tmp_path / controller.FOLDER / found.name / controller.RECORD
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps(asdict(found)))
    engine = FakeEngine(tmp_path)
    kills = killed(engine, 1)
    at = engine.told.index("kill volcano-scheduler")
    assert engine.told[at + 1] == "start volcano-scheduler"
    assert "volcano-scheduler" in kills.restarted


def test_an_update_more_that_changes_something_is_a_problem(tmp_path: Path) -> None:
    change = Change(op="update", type="kubernetes:core/v1:Secret", name="key")
    kills = killed(FakeEngine(tmp_path, last_changes=[change]), 1)
    (problem,) = kills.problems()
    assert problem.endswith("nothing to do: update kubernetes:core/v1:Secret key.")
