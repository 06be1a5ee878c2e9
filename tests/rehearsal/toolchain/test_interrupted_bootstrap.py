"""Ctrl-C in the middle of `make rehearse` on a fresh checkout."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.conftest import ROOT

# Make's Python: the real bootstrap, whose steps run a stand-in that tells its process id and hangs
PYTHON = """#!{python}
import runpy, sys
if sys.argv[1] == "-c":
    sys.exit()  # new enough
if sys.argv[1:3] == ["-m", "venv"]:
    import os, time
    with open({started!r}, "w") as pipe:
        pipe.write(str(os.getpid()))
    time.sleep(600)
sys._base_executable = __file__
runpy.run_path(sys.argv[1], run_name="__main__")
"""
# a shell that starts the tests in the background makes them ignore SIGINT, and so their children
MAKE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp("make", ["make", *sys.argv[1:]])
"""


def fresh_checkout(folder: Path) -> Path:
    """What `make` reads before anything is installed."""
    (folder / "toolchain").mkdir(parents=True)
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "toolchain/bootstrap.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_ctrl_c_while_make_builds_ends_the_step_and_starts_no_rehearsal(tmp_path: Path) -> None:
    checkout = fresh_checkout(tmp_path / "checkout")
    started, python = tmp_path / "started", tmp_path / "python3"
    os.mkfifo(started)
    python.write_text(PYTHON.format(python=sys.executable, started=str(started)))
    python.chmod(0o755)
    make = subprocess.Popen(
        [sys.executable, "-c", MAKE, "rehearse", f"PYTHON={python}"],
        cwd=checkout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    step = psutil.Process(int(started.read_text()))

    os.killpg(make.pid, signal.SIGINT)  # as a terminal does: to make and to what it runs
    _, told = make.communicate(timeout=10)

    assert make.returncode
    assert "bootstrap: make .venv …" in told
    assert "bootstrap: interrupted" in told
    assert "Traceback" not in told
    assert ".venv/bin/fleet" not in told, "the rehearsal was tried all the same"
    assert not step.is_running() or step.status() == psutil.STATUS_ZOMBIE
    assert not (checkout / ".venv" / "bootstrap.stamp").exists()
