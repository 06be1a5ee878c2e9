"""How the real engine replaces the servers of a pool: Pulumi's rules, not ours, set the order."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rehearsal.engine import EngineError
from tests.conftest import ROOT
from tests.engine.conftest import Change, Trial

BROKEN_BOOT = """
import components.pools.hetzner as pools

whole = pools.user_data


def broken(*given, **more):
    return whole(*given, **more).apply(lambda ignition: ignition.replace("3.4.0", "9.4.0", 1))


pools.user_data = broken
"""
SERVERS = ("cpu-1", "cpu-2", "cpu-3")


def other_plan(config: dict[str, Any]) -> None:
    config["gpu-fleet:pools"]["cpu"]["tuning"] = {"housekeeping_cores_per_numa_node": 2}
    config["gpu-fleet:allow"] = {"replace": 3}


def test_a_server_goes_when_its_node_is_empty_and_the_one_before_it_is_ready_again(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    """Each waits for the turn before it and is not deleted with it, as an input would make it."""
    trial = twin_of_dev(lambda _config: None)
    trial.up()
    before = len(of_servers(trial))
    trial.changed(other_plan)

    trial.up()

    assert of_servers(trial)[before:] == [
        step
        for server in SERVERS
        for step in (
            ("Delete", f"{server}-turn"),  # drains the node
            ("Delete", server),
            ("Create", server),
            ("Create", f"{server}-turn"),  # waits until the new node is Ready
        )
    ]
    nodes = {node["metadata"]["name"]: node for node in trial.api().items("/api/v1/nodes")}
    for server in SERVERS:
        assert ready(nodes[f"fleet-dev-{server}"]), server


def test_boot_data_that_does_not_boot_takes_one_server_and_says_why(
    twin_of_dev: Callable[[Change], Trial], tmp_path: Path
) -> None:
    """The next server is touched only when the node of this one is Ready."""
    trial = twin_of_dev(lambda _config: None)
    trial.up()
    before = len(of_servers(trial))
    trial.changed(all_at_one_go)

    with pytest.raises(EngineError, match=r"fleet-dev-cpu-1 did not come up: .*version"):
        trial.running(broken_program(tmp_path)).up()

    assert of_servers(trial)[before:] == [
        ("Delete", "cpu-1-turn"),
        ("Delete", "cpu-1"),
        ("Create", "cpu-1"),
    ]


def broken_program(folder: Path) -> Path:
    """The program, but Ignition of no known version for the servers."""
    shutil.copytree(ROOT / "stacks", folder / "stacks")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    program = folder / "stacks" / "__main__.py"
    docstring, imports = program.read_text().split("\n", 1)
    program.write_text(docstring + BROKEN_BOOT + imports)
    return folder


def all_at_one_go(config: dict[str, Any]) -> None:
    config["gpu-fleet:allow"] = {"replace": 3}


def of_servers(trial: Trial) -> list[tuple[str, str]]:
    """What was made and deleted of the servers and their turns, in order."""
    names = {*SERVERS, *(f"{server}-turn" for server in SERVERS)}
    return [step for step in trial.asked("Create", "Delete") if step[1] in names]


def ready(node: dict[str, Any]) -> bool:
    conditions = node["status"]["conditions"]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
