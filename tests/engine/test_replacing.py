"""How the real engine replaces the servers of a pool: Pulumi's rules, not ours, set the order."""

from collections.abc import Callable
from typing import Any

import yaml

from tests.engine.conftest import Change, Trial


def test_the_servers_of_a_pool_are_replaced_one_after_the_other(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    """Each waits for the one before it and is not deleted with it, as an input would make it."""
    trial = twin_of_dev(lambda _config: None)
    trial.up()
    before = len(server_calls(trial))
    document = yaml.safe_load(trial.engine.stack_file.read_text())
    pool = document["config"]["gpu-fleet:pools"]["cpu"]
    pool["tuning"] = {"housekeeping_cores_per_numa_node": 2}
    trial.engine.stack_file.write_text(yaml.safe_dump(document))

    trial.up()

    assert server_calls(trial)[before:] == [
        *(("Delete", "cpu-1"), ("Create", "cpu-1")),
        *(("Delete", "cpu-2"), ("Create", "cpu-2")),
        *(("Delete", "cpu-3"), ("Create", "cpu-3")),
    ]


def server_calls(trial: Trial) -> list[tuple[str, str]]:
    """What the provider was asked to make and to delete for good, in order."""
    asked: list[dict[str, Any]] = [call for call in trial.calls() if not call["preview"]]
    return [
        (call["method"], call["urn"].rsplit("::", 1)[-1])
        for call in asked
        if call["type"].endswith(":Server") and call["method"] in ("Create", "Delete")
    ]
