"""`fleet check` of one small file against a command of typer that only says hello, and of many
objects against a parse of their YAML.

Both commands are Python with bytecode that an earlier run has left. A command of typer loads typer
and pydantic, so the ratio says what settings, rules and the check add to that.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import yaml

from benchmarks.objects import objects
from benchmarks.results import Checks, Throughput, Timing
from fleet.check.judging import check
from fleet.check.reading import read
from policies.environment import load
from settings import stack_file

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = 1000
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


def measure_many(environment: str, *, runs: int) -> Throughput:
    """Checks many objects once to warm up, then once in each run, in turns with the parse."""
    rules = load(stack_file(ROOT, environment)).rules
    parsed_s, read_s, judged_s = [], [], []
    with TemporaryDirectory(prefix="fleet-bench-") as folder:
        file = Path(folder) / "objects.yaml"
        text = yaml.dump_all(objects(OBJECTS), Dumper=yaml.CSafeDumper)
        file.write_text(text)
        for run in range(runs + 1):
            started = time.process_time()
            list(yaml.load_all(text, Loader=yaml.CSafeLoader))
            parsed = time.process_time()
            found = read([str(file)])
            was_read = time.process_time()
            check(environment, rules, found)
            judged = time.process_time()
            if run:
                parsed_s.append(parsed - started)
                read_s.append(was_read - parsed)
                judged_s.append(judged - was_read)
    return Throughput(objects=OBJECTS, parsed_s=parsed_s, read_s=read_s, judged_s=judged_s)
