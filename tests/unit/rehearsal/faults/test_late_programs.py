"""A program that judges a fault and does not end: a sentence, and the report goes on."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rehearsal.controllers.controller import AUTHORITY
from rehearsal.errors import RehearsalError
from rehearsal.faults import link
from rehearsal.faults.alerts import judge
from rehearsal.faults.link import LinkDown
from rehearsal.faults.rules import Rules
from rehearsal.faults.scene import Clock, Scene
from tests.support.rehearsal.fault_scenes import GANG, RUNNING


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A scene in which no program ends in time."""

    def late(argv: list[str], *, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(argv, timeout)

    monkeypatch.setattr(subprocess, "run", late)
    nodes: dict[str, Any] = {each.key: each.found for each in RUNNING if each.kind == "Node"}
    pods: dict[str, Any] = {each.key: each.found for each in RUNNING if each.kind == "Pod"}
    scene = SimpleNamespace(
        api=SimpleNamespace(server="https://127.0.0.1:1"),
        directory=tmp_path,
        watch=SimpleNamespace(seen=RUNNING, seconds=20.0),
        clock=Clock(),
        now={"Node": nodes, "Pod": pods},
        gang=lambda *, rented: GANG,  # noqa: ARG005  # the only one
    )
    return cast("Scene", scene)


def test_promtool_that_does_not_end_is_said(scene: Scene) -> None:
    with pytest.raises(RehearsalError, match="promtool has not judged the alerts within 120 s"):
        judge(Path("promtool"), Rules(groups=[]), (10.0, 20.0), [], scene)


def test_a_node_check_that_does_not_end_is_said_with_its_node(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Callable[..., object]] = {
        "_program": lambda _scene: b"",
        "_ignition": lambda _scene, _node: "{}",
        "_token": lambda _scene, _node: "token",
    }
    for name, make in made.items():
        monkeypatch.setattr(link, name, make)
    authority = scene.directory / AUTHORITY
    authority.parent.mkdir()
    authority.write_text("certificate")
    with pytest.raises(RehearsalError, match="fleet-node-check has not ended within 60 s on a:"):
        LinkDown(root=scene.directory).inject(scene)
