"""Signals end a rehearsal at once, but never inside a start or a stop."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine import interrupts
from engine.interrupts import Interrupted, interruptible, shielded, wait

ENGINE = """
import signal, sys
from pathlib import Path

def ended(number, frame):
    Path(sys.argv[1]).write_text("in order")
    sys.exit(1)

signal.signal(signal.SIGINT, signal.SIG_IGN if sys.argv[2] == "deaf" else ended)
print("ready", flush=True)
signal.pause()
"""


def test_ctrl_c_ends_with_the_exit_code_that_a_shell_expects() -> None:
    with pytest.raises(Interrupted) as caught, interruptible():
        os.kill(os.getpid(), signal.SIGINT)
    assert caught.value.exit_code == 130


def test_kill_ends_it_likewise() -> None:
    with pytest.raises(Interrupted) as caught, interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.exit_code == 143


def test_a_start_is_finished_before_the_signal_counts() -> None:
    steps = []

    def start() -> None:
        with interruptible(), shielded():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("recorded")

    with pytest.raises(Interrupted):
        start()
    assert steps == ["recorded"]


def test_a_second_ctrl_c_does_not_cut_the_stop_short() -> None:
    with interruptible(), shielded(forget=True):
        os.kill(os.getpid(), signal.SIGINT)


def test_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize(("hearing", "says"), [("hears", "in order"), ("deaf", "")])
def test_an_ended_command_ends_its_engine_first(
    hearing: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would work on behind one's back, and hold the lock of the stack."""
    monkeypatch.setattr(interrupts, "PATIENCE_S", (20.0,) if hearing == "hears" else (0.0, 0.0))
    note = tmp_path / "note"
    note.touch()
    argv = [sys.executable, "-c", ENGINE, str(note), hearing]
    engine = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    assert engine.stdout
    assert engine.stdout.readline() == b"ready\n"
    with pytest.raises(Interrupted), interruptible():
        wait(engine, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert engine.returncode is not None
    assert note.read_text() == says
