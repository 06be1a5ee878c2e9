"""A build that ends in the middle, by Ctrl-C or by force."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.unit.toolchain.conftest import Workshop
from toolchain.programs import BUTANE_CHECK

# a shell that starts the tests in the background makes them ignore SIGINT, and so their children
PROGRAM = """
import signal
import sys
from pathlib import Path
from toolchain.build import ensure
from toolchain.layout import Layout
signal.signal(signal.SIGINT, signal.default_int_handler)
layout = Layout(home=Path(sys.argv[1]), sources=Path(sys.argv[2]))
ensure(("butane-check",), console=None, layout=layout)
"""


def interrupt_in_the_middle(workshop: Workshop, started: Path, number: signal.Signals) -> int:
    """Starts a build, ends it with the signal while Go works; returns the process id of Go."""
    arguments = [str(workshop.layout.home), str(workshop.layout.sources)]
    build = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stderr=subprocess.DEVNULL)
    go = int(started.read_text())
    build.send_signal(number)
    build.wait(timeout=10)
    started.unlink()
    return go


def runs(pid: int) -> bool:
    """Whether the process is there and no zombie that nobody has waited for."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_ctrl_c_ends_go_and_leaves_no_program(workshop: Workshop, started: Path) -> None:
    go = interrupt_in_the_middle(workshop, started, signal.SIGINT)

    assert not runs(go)
    assert not workshop.layout.is_built(BUTANE_CHECK)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_run_after_an_interrupted_one_ends_its_go_and_builds_the_whole(
    workshop: Workshop, started: Path, number: signal.Signals
) -> None:
    go = interrupt_in_the_middle(workshop, started, number)

    tools = workshop.ensure("butane-check")

    assert not runs(go)
    assert tools.path("butane-check").exists()
    assert {path.name for path in workshop.layout.home.iterdir()} == {"bin", "lock"}


def test_a_run_that_has_nothing_to_build_removes_leftovers_too(
    workshop: Workshop, started: Path
) -> None:
    started.unlink()
    workshop.ensure("butane-check")
    (workshop.layout.work / "mod").mkdir(parents=True)
    (workshop.layout.finished / "kwok-0.1.0-00000000").mkdir()

    workshop.ensure("butane-check")

    assert not workshop.layout.work.exists()
    assert [path.name for path in workshop.layout.finished.iterdir()] == [
        workshop.layout.directory(BUTANE_CHECK).name
    ]
