"""`fleet destroy` that is killed after each of its steps goes on when it is started again."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import psutil
import pytest

from fleet.destroy.deployed import things
from rehearsal.karpenter import instances
from rehearsal.providers import cloud
from settings.names import SERVER
from tests.conftest import ROOT
from tests.engine.conftest import Change, Trial
from tests.engine.test_destroying import hetzner, rent
from tests.engine.test_leaving import without_lakefs

LIFTED = ("dgx", "monitoring", "teams")
DESTROY = """
import json, os, sys
from pathlib import Path
from rich.console import Console
from fleet.destroy.command import tear_down
from fleet.destroy.run import Teardown
from fleet.deployed_stack import DeployedStack
from settings import load

given = json.loads(sys.argv[1])
stack = DeployedStack(
    root=Path(given["root"]), environment=given["environment"], pulumi=Path(given["pulumi"]),
    variables=dict(os.environ), arguments=tuple(given["arguments"]),
)
down = Teardown(
    settings=load(Path(given["stack_file"])), stack=stack, lifted=given["lifted"],
    hetzner=given["hetzner"],
    at_aws=lambda _settings: iter(()),  # `aws` would ask a real account
)
sys.exit(tear_down(Console(), down))
"""
DEADLINE_S = 240


def limits_are_zero(trial: Trial) -> bool:
    pool = trial.api().get("/apis/karpenter.sh/v1/nodepools/burst-spot")
    return pool is not None and pool["spec"]["limits"] == {"nvidia.com/gpu": "0"}


def no_machine_is_rented(trial: Trial) -> bool:
    return instances.alive(trial.engine.directory) == []


def nothing_is_protected(trial: Trial) -> bool:
    return not any(each.get("protect") for each in state(trial))


def nothing_is_deployed(trial: Trial) -> bool:
    return not things(state(trial))


def gone(name: str) -> Callable[[Trial], bool]:
    def deleted(trial: Trial) -> bool:
        lines = (trial.engine.directory / "calls.jsonl").read_text().splitlines()
        return any('"Delete"' in line and f'::{name}"' in line for line in lines)

    return deleted


STEPS = (
    limits_are_zero,
    no_machine_is_rented,
    nothing_is_protected,
    gone("burst-spot"),
    gone("karpenter-controller"),
    gone("cpu-2"),
    gone("cilium-release"),
    nothing_is_deployed,
)


@pytest.mark.slow
def test_a_destroy_that_is_killed_after_each_step_leaves_nothing_in_the_end(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    trial = twin_of_dev(without_lakefs)
    trial.up()
    rent(trial, "burst-spot-1", "burst-spot-2")

    with hetzner(trial) as api:
        for number, reached in enumerate(STEPS):
            process = started(trial, api, f"destroy-{number}")
            while not reached(trial):
                assert process.poll() is None, f"it ended before {reached}: {said(trial, number)}"
                time.sleep(0.01)
            kill(process)
            unlock(trial)
        process = started(trial, api, "destroy-last")
        ended = process.wait(DEADLINE_S)

    assert ended == 0, trial.engine.processes.log("destroy-last").read_text()
    assert things(state(trial)) == []
    assert instances.alive(trial.engine.directory) == []
    assert not [each for each in cloud.read(trial.engine.directory) if each.type == SERVER]
    for kind in ("nodeclaims", "nodepools"):
        assert trial.api().items(f"/apis/karpenter.sh/v1/{kind}") == []


def started(trial: Trial, api: str, name: str) -> subprocess.Popen[bytes]:
    """`fleet destroy` in a session of its own, with a state that is written at each step."""
    engine = trial.engine
    given: Mapping[str, Any] = {
        "root": str(engine.root),
        "environment": engine.environment_name,
        "pulumi": str(engine.pulumi),
        "arguments": engine.arguments,
        "stack_file": str(engine.stack_file),
        "lifted": LIFTED,
        "hetzner": api,
    }
    environment = {k: v for k, v in engine.environment.items() if k != "PULUMI_SKIP_CHECKPOINTS"}
    argv = (sys.executable, "-c", DESTROY, json.dumps(given))
    return engine.processes.start(name, argv, env=environment, cwd=ROOT)


def kill(process: subprocess.Popen[bytes]) -> None:
    """As a power cut does: the command, the engine and its plugins, all at once."""
    session = [each for each in psutil.process_iter() if session_of(each) == process.pid]
    for each in session:
        each.kill()
    psutil.wait_procs(session)
    process.wait()


def session_of(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except OSError:
        return None


def unlock(trial: Trial) -> None:
    """What the command asks for after the engine was killed."""
    engine = trial.engine
    subprocess.run(
        (engine.pulumi, "cancel", "--yes", engine.arguments[0]),
        cwd=engine.root,
        env=engine.environment,
        capture_output=True,
        check=False,  # there is no lock where the engine did not run
    )


def state(trial: Trial) -> list[dict[str, Any]]:
    """The resources in the state, also while the engine writes it."""
    while True:
        try:
            return trial.state()
        except ValueError:
            time.sleep(0.01)


def said(trial: Trial, number: int) -> str:
    return trial.engine.processes.log(f"destroy-{number}").read_text()
