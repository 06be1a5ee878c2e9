"""Rehearsals of scratch checkouts, so that tests never meet one of the user's own."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import MARK, Processes
from rehearsal.workspace import Workspace
from tests.conftest import ROOT
from toolchain.build import ensure

DEADLINE_S = 300  # for a hanging command alone
NO_INTERNET = {
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"),
    "no_proxy": "127.0.0.1,localhost",
}
"""A proxy that nothing serves, so that a rehearsal tells of charts what it tells everywhere."""
COMMAND = """
import sys
from pathlib import Path
from rehearsal import cli, run
from toolchain.layout import Layout
verb, root, environment, *flags = sys.argv[1:]
run.Layout = lambda: Layout(home=Path(root) / ".toolchain")  # has no chart that was fetched
if verb == "rehearse-stop":
    sys.exit(cli.rehearse_stop(Path(root), environment))
if verb == "twin":
    sys.exit(cli.twin(Path(root), environment, flags[0], flags[1:]))
given = {flag: f"--{flag}" in flags for flag in ("keep", "again")} | {"as_json": "--json" in flags}
valued = dict(flag.removeprefix("--").split("=", 1) for flag in flags if "=" in flag)
given["before"] = valued.get("from")
given["jobs"] = Path(valued["jobs"]) if "jobs" in valued else None
faults = [flag.partition("=")[2] for flag in flags if flag.startswith("--fault=")]
kills = [int(flag.partition("=")[2]) for flag in flags if flag.startswith("--kills=")]
if kills or faults:
    from fleet.in_twin import extras
    from rehearsal.faults.asked import asked
    destroy = "--destroy" in flags
    given["extras"] = extras(
        kills=sum(kills), seed=int(valued.get("seed", 1)), destroy=destroy, faults=asked(faults)
    )
sys.exit(cli.rehearse(Path(root), environment, **given))
"""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that has ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` printed."""
        found: dict[str, Any] = json.loads(self.stdout)
        return found


@dataclass
class Running:
    """A rehearsal that runs; its progress is read line by line."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def wait_for(self, text: str) -> None:
        """Reads progress until a line has `text` in it."""
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)
            if text in line:
                return
        pytest.fail(f'the rehearsal ended before "{text}": {"".join(self.lines)}')

    def end(self, number: signal.Signals) -> Ended:
        """Sends a signal to the command alone, as `kill` does, and waits for its end."""
        self.process.send_signal(number)
        stdout, stderr = self.process.communicate(timeout=DEADLINE_S)
        return Ended(
            code=self.process.returncode, stdout=stdout, stderr="".join(self.lines) + stderr
        )


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A copy of what a rehearsal reads of a checkout: project, program, stack files, policies."""

    root: Path

    def stack_file(self, environment: str) -> Path:
        return self.root / "stacks" / f"Pulumi.{environment}.yaml"

    def workspace(self, environment: str = "dev") -> Workspace:
        return Workspace(root=self.root, environment=environment)

    def start(self, *words: str) -> Running:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, words[0], str(self.root), *words[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.root,
            env=_without_internet(),
            start_new_session=True,
        )
        return Running(process=process)

    def run(self, *words: str, deadline_s: int = DEADLINE_S) -> Ended:
        running = self.start(*words)
        stdout, stderr = running.process.communicate(timeout=deadline_s)
        sys.stdout.write(f"{stderr}\n{stdout}")  # pytest shows it where a test fails
        return Ended(code=running.process.returncode, stdout=stdout, stderr=stderr)

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=test", "-c", "user.email=test@fleet.example")
        command = ("git", *identity, *words)
        return subprocess.run(
            command, cwd=self.root, check=True, capture_output=True, text=True
        ).stdout

    def left_running(self, environment: str = "dev") -> list[str]:
        """Command lines of every process that a rehearsal of the environment has started."""
        mark = str(self.workspace(environment).directory.resolve())
        return [" ".join(p.cmdline()) for p in psutil.process_iter() if _mark(p) == mark]


def _without_internet() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.lower() not in NO_INTERNET}
    return {**kept, **NO_INTERNET, **{name.upper(): value for name, value in NO_INTERNET.items()}}


def _mark(process: psutil.Process) -> str | None:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process.environ().get(MARK)
    except psutil.Error:
        return None


@pytest.fixture(scope="session")
def toolchain() -> None:
    """The programs of a rehearsal, built where they are not there."""
    ensure(console=None)


@pytest.fixture
def launcher(tmp_path: Path, toolchain: None) -> Iterator[Launcher]:
    """A control plane alone, ended with the test that launches it."""
    tools = ensure(console=None)
    processes = Processes(tmp_path)
    yield Launcher(
        directory=tmp_path,
        processes=processes,
        programs=Programs.of(tools),
        environment=dict(os.environ),
    )
    processes.stop()


@pytest.fixture(scope="session")
def make_checkout(
    tmp_path_factory: pytest.TempPathFactory,
    toolchain: None,
) -> Iterator[Callable[[], Checkout]]:
    """Makes checkouts; whatever still runs in them at the end is ended."""
    made: list[Checkout] = []

    def make() -> Checkout:
        root = tmp_path_factory.mktemp("check out")
        for name in ("stacks", "policies"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("Pulumi.yaml", ".gitignore"):
            shutil.copy(ROOT / name, root / name)
        made.append(Checkout(root=root))
        return made[-1]

    yield make
    for checkout in made:
        for environment in ("dev", "research"):
            checkout.workspace(environment).processes.stop()


@pytest.fixture
def checkout(make_checkout: Callable[[], Checkout]) -> Checkout:
    return make_checkout()
