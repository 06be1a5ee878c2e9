"""EC2 without capacity: what of Karpenter's events is of this fault."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from rehearsal.faults.capacity import WATCHED_S, SoldOut
from rehearsal.faults.scene import Scene
from rehearsal.karpenter.instances import Instances, Launch
from tests.support.rehearsal.fault_scenes import GANG, RUNNING
from tests.unit.rehearsal.faults.test_money import machine


@dataclass
class Twin:
    """The gang goes as soon as it is deleted; `events` are those of Karpenter."""

    directory: Path
    events: list[dict[str, Any]]
    seconds: float = 100.0
    now: dict[str, Any] = field(default_factory=dict)

    def items(self, _path: str, **_query: str) -> list[dict[str, Any]]:
        return self.events

    def delete(self, _path: str, **_how: str) -> None:
        self.now |= {"Pod": {}, "NodeClaim": {}, "Gang": {}}

    def create(self, *_what: object) -> None:
        """The gang asks again."""


def told(uid: str, version: str) -> dict[str, Any]:
    return {"metadata": {"uid": uid, "resourceVersion": version}}


def sold_out(directory: Path, *events: dict[str, Any]) -> tuple[Twin, Scene, SoldOut]:
    """Puts the fault in where Karpenter has said these events before."""
    running: dict[str, dict[str, Any]] = {}
    for each in RUNNING:
        running.setdefault(each.kind, {})[each.key] = each.found
    running["Node"]["a"]["spec"]["providerID"] = "aws:///us-east-1b/i-a"
    launch = Launch(digest="", errors=[], instances=["i-a"])
    Instances(directory).add("t", launch, [machine("i-a", 0.0)], "x")
    twin = Twin(directory, [*events], now=running)
    scene = SimpleNamespace(
        api=twin,
        directory=directory,
        watch=twin,
        now=twin.now,
        processes=None,
        gang=lambda *, rented: GANG,  # noqa: ARG005  # the only one
    )
    fault = SoldOut()
    fault.inject(cast("Scene", scene))
    return twin, cast("Scene", scene), fault


def test_what_karpenter_has_said_of_an_earlier_fault_mends_nothing(tmp_path: Path) -> None:
    twin, scene, fault = sold_out(tmp_path, told("old", "1"))
    fault.step(scene)
    twin.seconds += WATCHED_S + 1
    fault.step(scene)
    assert not fault.over(scene)


def test_capacity_comes_back_a_while_after_karpenter_was_told_anew(tmp_path: Path) -> None:
    for new in (told("new", "7"), told("old", "2")):  # the same event again has another version
        twin, scene, fault = sold_out(tmp_path, told("old", "1"))
        twin.events.append(new)
        fault.step(scene)
        assert not fault.over(scene)
        twin.seconds += WATCHED_S + 1
        fault.step(scene)
        assert fault.over(scene)
