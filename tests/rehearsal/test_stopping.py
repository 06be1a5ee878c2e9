"""However a rehearsal is ended, nothing that it started is left."""

import json
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from rehearsal.processes import Processes, Record
from rehearsal.providers import cloud
from settings.names import SERVER
from tests.rehearsal.conftest import Checkout, Ended

DEADLINE_S = 120.0
ENVIRONMENT = dict(os.environ)
SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = f"""
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], process_group=0)
{SLEEPER}
"""


@pytest.mark.parametrize(
    "phase",
    [
        "control plane",
        pytest.param("preview", marks=pytest.mark.slow),
        "up",
        pytest.param("smoke", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_leaves_nothing_behind(checkout: Checkout, phase: str) -> None:
    rehearsal = checkout.start("rehearse", "dev")
    rehearsal.wait_for(f"… {phase}")
    assert_all_is_gone(checkout, rehearsal.end(signal.SIGINT))


def test_ctrl_c_while_an_update_waits_for_machines_leaves_nothing_behind(
    checkout: Checkout,
) -> None:
    rehearsal = checkout.start("rehearse", "dev")
    rehearsal.wait_for("… preview")
    records = checkout.workspace().processes.records()
    (kwok,) = [psutil.Process(record.pid) for record in records if record.name == "kwok"]
    kwok.suspend()  # without it no node becomes Ready, and the update cannot end first
    rehearsal.wait_for("… up")
    deadline = time.monotonic() + DEADLINE_S
    while not any(made.type == SERVER for made in cloud.read(checkout.workspace().directory)):
        assert time.monotonic() < deadline, "no server was made"
        time.sleep(0.1)
    ended = rehearsal.end(signal.SIGINT)

    assert_all_is_gone(checkout, ended)
    assert "… smoke" not in ended.stderr


def assert_all_is_gone(checkout: Checkout, ended: Ended) -> None:
    """What holds after Ctrl-C in any phase."""
    assert ended.code == 130
    assert checkout.left_running() == []
    assert "Stopped in" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


def test_a_running_rehearsal_is_ended_from_another_terminal(checkout: Checkout) -> None:
    rehearsal = checkout.start("rehearse", "dev")
    rehearsal.wait_for("… preview")
    stopped = checkout.run("rehearse-stop", "dev")

    assert stopped.code == 0
    assert "kube-apiserver" in stopped.stdout
    assert rehearsal.process.wait(timeout=30) == 143
    assert checkout.left_running() == []


def test_what_a_killed_rehearsal_left_is_ended_by_the_next_one(checkout: Checkout) -> None:
    killed = checkout.start("rehearse", "dev")
    killed.wait_for("… preview")
    killed.end(signal.SIGKILL)
    left = {record.pid for record in checkout.workspace().processes.records() if record.leader()}
    assert left, "the killed rehearsal left nothing, so there is nothing to clean"

    following = checkout.start("rehearse", "dev")
    following.wait_for("Stopped what a killed rehearsal left running: ")
    now = {record.pid for record in checkout.workspace().processes.records()}
    assert not [pid for pid in left - now if psutil.pid_exists(pid) and runs(psutil.Process(pid))]
    following.end(signal.SIGINT)
    assert checkout.left_running() == []


def runs(process: psutil.Process) -> bool:
    """Whether it runs; a zombie only waits to be read by its parent."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def start(processes: Processes, name: str, program: str) -> psutil.Process:
    """Starts a Python program and waits until it says that it is up."""
    started = processes.start(name, (sys.executable, "-c", program), env=ENVIRONMENT)
    log = processes.log(name)
    while "up" not in log.read_text():
        assert started.poll() is None, log.read_text()
    return psutil.Process(started.pid)


def test_a_process_that_ignores_sigterm_is_ended(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    stubborn = start(processes, "stubborn", STUBBORN)
    assert processes.stop() == ("stubborn",)
    assert not runs(stubborn)


def test_children_in_their_own_process_group_end_with_their_session(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    parent = start(processes, "parent", PARENT)
    (child,) = parent.children()
    processes.stop()
    assert not runs(child)


def test_children_of_a_leader_that_is_gone_are_ended(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    parent = start(processes, "parent", PARENT)
    (child,) = parent.children()
    parent.kill()
    parent.wait()
    processes.stop()
    assert not runs(child)


def test_clients_end_before_the_api_server_and_that_before_etcd(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    tells = (
        "import signal, sys, time; from pathlib import Path\n"
        "def end(*_):\n"
        " with Path('order').open('a') as order: order.write(sys.argv[1] + '\\n')\n"
        " sys.exit()\n"
        "signal.signal(signal.SIGTERM, end); print('up', flush=True); time.sleep(600)"
    )
    for name in ("etcd", "kube-apiserver", "pulumi-up"):
        argv = (sys.executable, "-c", tells, name)
        processes.start(name, argv, env=ENVIRONMENT, cwd=tmp_path)
        while "up" not in processes.log(name).read_text():
            pass
    processes.stop()
    assert (tmp_path / "order").read_text().split() == ["pulumi-up", "kube-apiserver", "etcd"]


def test_the_new_owner_of_a_pid_is_not_hit(tmp_path: Path) -> None:
    """The bystander's pid and session are on record; only its start time is not."""
    bystander = start(Processes(tmp_path / "other"), "bystander", SLEEPER)
    processes = Processes(tmp_path / "ours")
    processes.records_directory.mkdir(parents=True)
    stale = Record(name="gone", pid=bystander.pid, started=bystander.create_time() - 60)
    (processes.records_directory / "gone.json").write_text(json.dumps(asdict(stale)))

    assert processes.stop() == ()
    assert runs(bystander)
    bystander.kill()
