"""`fleet check` of one small file against a command of typer that only says hello.

Both are Python with bytecode that an earlier run has left. A command of typer loads typer and
pydantic, so the ratio says what settings, rules and the check add to that.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from benchmarks.results import Checks, Timing

HELLO = """\
import typer

app = typer.Typer()

@app.command()
def hello(name: str = typer.Option("you")) -> None:
    print("hello", name)

app()
"""
CHECK = "from fleet.cli.main import app; app()"
FILE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
"""


def measure(environment: str, *, runs: int) -> Checks:
    """Runs each once to warm up, then once in each run, in turns."""
    hello: list[Timing] = []
    checked: list[Timing] = []
    with TemporaryDirectory(prefix="fleet-bench-") as folder:
        file = Path(folder) / "settings.yaml"
        file.write_text(FILE)
        words = ("check", "-f", str(file), "--env", environment)
        for run in range(runs + 1):
            for taken, code, arguments in ((hello, HELLO, ()), (checked, CHECK, words)):
                found = _timed(code, arguments, Path(folder))
                if run:
                    taken.append(found)
    return Checks(environment=environment, hello=hello, checked=checked)


def _timed(code: str, arguments: tuple[str, ...], folder: Path) -> Timing:
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        (sys.executable, "-c", code, *arguments),
        env=variables,
        check=True,
        capture_output=True,
    )
    after, ended = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timing(wall_s=ended - started, cpu_s=cpu_s)
