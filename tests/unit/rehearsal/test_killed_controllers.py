"""The controllers that are killed while a gang rents, and what EC2's instances say of it."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rehearsal.controllers import controller
from rehearsal.controllers.controller import Controller, Controllers
from rehearsal.karpenter.instances import Instances, Launch
from rehearsal.killed_controllers import CLAIM_OF, LATEST_S, ControllerKills
from rehearsal.kills import Kills
from rehearsal.smoke.jobs import RENTED
from rehearsal.smoke.results import Smoke, SmokeRun
from tests.unit.rehearsal.faults.test_money import machine

NAMES = ("fleet-gang-buffer", "karpenter", "volcano-scheduler")
KILLS = Kills(seed=7, resources=20, restarted=("kwok",))


@dataclass
class Twin:
    """Controllers that are started already, and a clock."""

    directory: Path
    now: float = 0.0
    told: list[str] = field(default_factory=list)

    @property
    def processes(self) -> Any:
        return SimpleNamespace(
            check=lambda: self.told.append("checked"),
            kill=lambda name: self.told.append(f"kill {name}"),
        )

    def start(self, wanted: list[Controller]) -> None:
        self.told += [f"start {each.name}" for each in wanted]


@pytest.fixture
def twin(tmp_path: Path) -> Twin:
    for name in NAMES:
        found = Controller(
            name=name, system="", namespace="n", service_account=name, command=(name,)
        )
        record = tmp_path / controller.FOLDER / name / controller.RECORD
        record.parent.mkdir(parents=True)
        record.write_text(json.dumps(asdict(found)))
    return Twin(tmp_path)


def kills_in(twin: Twin, seed: int = 7) -> ControllerKills:
    return ControllerKills(
        controllers=cast("Controllers", twin), seed=seed, clock=lambda: twin.now, since=100.0
    )


def course(twin: Twin, seed: int) -> list[tuple[float, str]]:
    """Looks once a second; returns when each was killed."""
    kills, found = kills_in(twin, seed), []
    for second in range(int(LATEST_S) + 1):
        twin.now = float(second)
        before = len(twin.told)
        kills.look()
        found += [(twin.now, word) for word in twin.told[before:] if word.startswith("kill ")]
    assert sorted(kills.restarted) == [*NAMES]
    return found


def test_each_is_killed_once_at_a_moment_of_its_own_that_the_seed_repeats(twin: Twin) -> None:
    first = course(twin, 7)
    assert len({at for at, _ in first}) > 1
    assert min(at for at, _ in first) > 0
    twin.told.clear()
    assert course(twin, 7) == first
    assert course(twin, 8) != first


def test_each_is_started_again_as_soon_as_it_is_killed(twin: Twin) -> None:
    course(twin, 7)
    acts = [word for word in twin.told if word != "checked"]
    for killed, started in zip(acts[::2], acts[1::2], strict=True):
        assert (killed.partition(" ")[0], started.partition(" ")[0]) == ("kill", "start")
        assert killed.partition(" ")[2] == started.partition(" ")[2]


def test_those_that_no_moment_came_for_are_killed_in_the_end(twin: Twin) -> None:
    kills = kills_in(twin)
    kills.look()
    kills.finish()
    kills.finish()
    assert sorted(kills.restarted) == [*NAMES]


def rented(twin: Twin, *claims: str, ended: float | None = 150.0) -> None:
    for number, claim in enumerate(claims):
        tags = {CLAIM_OF: claim}
        made = machine(f"i-{number}", 100.0 + number, ended, tags=tags)
        launch = Launch(digest="", errors=[], instances=[made.id])
        Instances(twin.directory).add(made.id, launch, [made], "x")


GANG = SmokeRun(
    kind=RENTED,
    name="q/g",
    pool="burst",
    queue="q",
    gpus=16,
    outcome="ended",
    as_it_must=True,
    nodes=("a", "b"),
)


@pytest.mark.parametrize(
    ("claims", "doubled"),
    [
        (("one", "two"), ()),
        (("one", "one", "two"), ("machine i-1 of one",)),
        (("one", "two", "three"), ("machine i-2 of three",)),
    ],
    ids=["a machine each", "one claim has two", "more claims than the gang needs"],
)
def test_a_machine_more_than_the_gang_needs_is_doubled(
    twin: Twin, claims: tuple[str, ...], doubled: tuple[str, ...]
) -> None:
    rented(twin, *claims)
    found = kills_in(twin).told(KILLS, Smoke(runs=(GANG,)))
    assert (found.doubled, found.orphaned) == (doubled, ())


def test_a_machine_that_is_left_is_orphaned_and_one_of_before_is_not(twin: Twin) -> None:
    rented(twin, "one", "two", ended=None)
    later = replace(kills_in(twin), since=101.0)
    gang = replace(GANG, nodes=("b",))
    found = later.told(KILLS, Smoke(runs=(gang,)))
    assert found.orphaned == ("machine i-1 of two",)
    (problem,) = found.problems()
    assert problem == "After the kills (seed 7), in its cloud and in no state: machine i-1 of two."
