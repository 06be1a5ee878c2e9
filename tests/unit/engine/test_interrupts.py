"""Signals end a rehearsal at once, but never inside a start or a stop."""

import os
import signal

import pytest

from engine.interrupts import Interrupted, interruptible, shielded


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
