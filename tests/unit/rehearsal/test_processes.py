"""Records of processes: a pid alone is never enough to be ended, and none ends unnoticed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rehearsal.errors import RehearsalError
from rehearsal.processes import Processes, Record


def test_a_record_finds_its_process() -> None:
    record = Record(name="here", pid=os.getpid(), started=psutil.Process().create_time())
    assert record.leader() == psutil.Process()


def test_a_pid_that_was_given_away_is_not_the_process_on_record() -> None:
    record = Record(name="gone", pid=os.getpid(), started=psutil.Process().create_time() - 60)
    assert record.leader() is None


def test_a_record_that_was_cut_short_is_thrown_away(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.records_directory.mkdir()
    broken = processes.records_directory / "etcd-1.json"
    broken.write_text('{"name": "etc')

    assert processes.records() == ()
    assert not broken.exists()


SLEEPER = "import time; time.sleep(600)"
FAILING = "import sys; sys.exit('OSError: no port is left')"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    found = Processes(tmp_path)
    yield found
    found.stop()


def start(processes: Processes, name: str, program: str = SLEEPER) -> subprocess.Popen[bytes]:
    return processes.start(name, (sys.executable, "-c", program), env=dict(os.environ))


def test_servers_that_run_are_no_reason_to_stop(processes: Processes) -> None:
    start(processes, "etcd")
    processes.check()


def test_a_killed_server_is_named_with_its_signal(processes: Processes) -> None:
    kwok = start(processes, "kwok")
    kwok.kill()
    kwok.wait()
    with pytest.raises(
        RehearsalError, match=r"^kwok was killed by signal 9 \(log: .+kwok\.log\)\.$"
    ):
        processes.check()


def test_a_server_that_failed_is_named_with_the_reason_in_its_log(processes: Processes) -> None:
    start(processes, "provider-server", FAILING).wait()
    sentence = "provider-server ended with exit code 1: OSError: no port is left (log: "
    assert (processes.ended() or "").startswith(sentence)


def test_of_several_the_one_is_named_that_the_others_need(processes: Processes) -> None:
    for name in ("kwok", "etcd", "kube-apiserver", "machine-loop"):
        started = start(processes, name)
        started.kill()
        started.wait()
    assert (processes.ended() or "").startswith("etcd was killed")


def test_the_end_of_the_engine_is_no_failure(processes: Processes) -> None:
    start(processes, "pulumi-preview", "").wait()
    assert processes.ended() is None


def test_a_server_that_was_started_again_counts_once(processes: Processes) -> None:
    start(processes, "etcd", FAILING).wait()
    start(processes, "etcd")
    assert processes.ended() is None


def test_another_command_notices_the_end_of_a_server_too(processes: Processes) -> None:
    start(processes, "kwok", FAILING).wait()
    later = Processes(processes.directory)
    log = processes.log("kwok")
    assert later.ended() == f"kwok has ended: OSError: no port is left (log: {log})."


def test_a_process_that_is_ended_on_purpose_is_no_reason_to_stop(processes: Processes) -> None:
    for name in ("kwok", "volcano-scheduler"):
        start(processes, name)
    later = Processes(processes.directory)
    later.end(["volcano-scheduler"])
    assert processes.running() == ("kwok",)
    assert processes.ended() is None


ENGINE = """
import signal, sys, time
signal.signal(signal.SIGINT, {handler})
print("up", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("handler", "ends"), [("lambda *_: sys.exit()", True), ("signal.SIG_IGN", False)]
)
def test_an_engine_may_write_its_state_before_it_ends(
    processes: Processes, monkeypatch: pytest.MonkeyPatch, handler: str, ends: bool
) -> None:
    monkeypatch.setattr("rehearsal.processes.ENGINE_PATIENCE_S", (60.0,) if ends else (0.01, 0.01))
    start(processes, "etcd")
    engine = start(processes, "pulumi-up", ENGINE.format(handler=handler))
    while "up" not in processes.log("pulumi-up").read_text():
        assert engine.poll() is None

    assert processes.finish_engine() is ends
    assert ("pulumi-up" in processes.running()) is not ends
    assert "etcd" in processes.running()


CHILDREN = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("started", flush=True)
time.sleep(600)
"""


def test_a_kill_takes_all_of_a_session_and_leaves_the_exit_code(processes: Processes) -> None:
    """The engine's language host and program are in its session, each in a group of its own."""
    engine = start(processes, "pulumi-up", CHILDREN)
    while "started" not in processes.log("pulumi-up").read_text():
        pass
    (child,) = psutil.Process(engine.pid).children()

    processes.kill("pulumi-up")

    assert engine.returncode == -signal.SIGKILL
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_controller_is_started_again_as_it_was(processes: Processes) -> None:
    argv = (sys.executable, "-c", SLEEPER)
    first = processes.start("kwok", argv, env=dict(os.environ), controller=True)
    start(processes, "etcd")

    processes.restart("kwok")

    assert first.returncode == -signal.SIGKILL
    assert processes.controllers == ("kwok",)
    assert processes.ended() is None
    newest = max(processes.records(), key=lambda record: record.started)
    assert psutil.Process(newest.pid).cmdline() == [*argv]


def test_the_log_of_one_that_was_killed_goes_on(processes: Processes) -> None:
    argv = (sys.executable, "-c", SLEEPER)
    processes.start("karpenter", argv, env=dict(os.environ))
    with processes.log("karpenter").open("a") as log:
        log.write("computed new nodeclaim(s)\n")
    processes.kill("karpenter")

    processes.start("karpenter", argv, env=dict(os.environ))

    assert "computed new nodeclaim(s)" in processes.log("karpenter").read_text()


def test_a_server_that_was_killed_is_started_again_and_is_no_controller(
    processes: Processes,
) -> None:
    argv = (sys.executable, "-c", SLEEPER)
    processes.start("etcd", argv, env=dict(os.environ))
    processes.kill("etcd")
    assert processes.ended() is not None

    processes.start_again("etcd")

    assert processes.controllers == ()
    assert processes.ended() is None
    assert processes.running() == ("etcd",)
    assert processes.log("etcd").with_suffix(".killed.log").exists()
