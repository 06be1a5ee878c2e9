"""Provides the programs: uses those on PATH whose version fits, and builds the others.

A program is built in a folder of its own and renamed into place when it is complete, so an
interrupted build never leaves part of a program. Asking a program on PATH for its version costs a
process, so the answer is kept until the file changes.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from toolchain.go import Recipe, end_builds, find_go
from toolchain.layout import Layout
from toolchain.program import OnPath, Program, ToolchainError
from toolchain.programs import PROGRAMS, VERSIONS
from toolchain.progress import Progress

__all__ = ["ToolchainError", "Tools", "ensure", "is_built", "versions"]

versions = VERSIONS
"""The pinned versions by system: {"kubernetes": "1.36.3", …}; `Tools.versions` are those in use."""

REHEARSAL = (
    *("pulumi", "control-plane", "kwok", "admitter", "crds", "helm", "charts"),
    *("volcano", "karpenter"),
)
"""The programs of every rehearsal."""

ANSWER_S = 20  # a program that takes longer to print its version is not used


@dataclass(frozen=True, kw_only=True)
class OnThisMachine:
    """A program on PATH, and the version that it prints."""

    path: Path
    version: str


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Finds programs on PATH; keeps the versions that they print in the folder of `layout`."""

    layout: Layout

    def find(self, program: Program) -> OnThisMachine | None:
        """Return the program on PATH; None where there is none or its version does not fit."""
        wanted = program.on_path
        found = shutil.which(program.name, path=_search_path())
        if wanted is None or found is None:
            return None
        path = Path(found).absolute()
        if path.is_relative_to(self.layout.home):
            return None
        folders = {path.parent, path.resolve().parent}
        if not all(any((folder / name).exists() for folder in folders) for name in wanted.beside):
            return None
        version = self._version(path, wanted)
        pinned_version = program.version(self.layout.sources)
        if version is None or not wanted.fits(version, pinned_version):
            return None
        return OnThisMachine(path=path, version=version)

    def _version(self, path: Path, wanted: OnPath) -> str | None:
        status = path.stat()
        question = f"{path} {status.st_mtime_ns} {status.st_size} {' '.join(wanted.arguments)}"
        answers = self._answers()
        if question not in answers:
            answers = {key: value for key, value in answers.items() if not _about(key, path)}
            answers[question] = _ask(path, wanted)
            self.layout.home.mkdir(parents=True, exist_ok=True)
            scratch = self._memory.with_suffix(".new")
            scratch.write_text(json.dumps(answers, indent=1))
            scratch.replace(self._memory)
        return answers[question]

    @property
    def _memory(self) -> Path:
        return self.layout.home / "on-path.json"

    def _answers(self) -> dict[str, str | None]:
        try:
            answers = json.loads(self._memory.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return answers if isinstance(answers, dict) else {}


def _search_path() -> str:
    """PATH without .venv, whose `pulumi` asks this module which one to run."""
    ours = Path(sys.prefix) / "bin"
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if Path(folder) != ours)


def _about(question: str, path: Path) -> bool:
    return question.startswith(f"{path} ")


def _ask(path: Path, wanted: OnPath) -> str | None:
    try:
        answer = subprocess.run(
            [path, *wanted.arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(wanted.pattern, answer.stdout)
    return found[1] if found else None


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The requested programs, ready to run."""

    programs: Mapping[str, Path]
    crds: Path  # one subfolder of YAML files a system: karpenter, volcano, metal3
    charts: Path = Path()  # one subfolder a Helm chart: volcano, karpenter, cilium
    versions: Mapping[str, str] = field(default_factory=lambda: versions)
    """By system, as `versions` above, of the programs that run; without those nobody knows."""

    def path(self, program: str) -> Path:
        """Return the executable of `program`."""
        return self.programs[program]

    def environment(self) -> dict[str, str]:
        """Return the variables that a Pulumi process in a rehearsal needs besides its own."""
        python = Path(sys.executable).parent
        folders = [self.programs["pulumi"].parent] if "pulumi" in self.programs else []
        search = [*(str(folder) for folder in (*folders, python)), os.environ.get("PATH", "")]
        return {
            "PATH": os.pathsep.join(filter(None, search)),
            "VIRTUAL_ENV": str(python.parent),
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
        }


def ensure(
    programs: Sequence[str] = REHEARSAL,
    *,
    console: Console | None,
    layout: Layout | None = None,
) -> Tools:
    """Return the programs, built where needed; prints to `console` only what it does."""
    layout = layout or Layout()
    wanted = [PROGRAMS[name] for name in programs]
    progress = Progress(console)
    if _missing(wanted, layout):
        layout.home.mkdir(parents=True, exist_ok=True)
        with lock(layout, progress):
            build_all(_missing(wanted, layout), layout, progress)
    elif layout.leftovers():
        with lock(layout, None) as alone:
            if alone:
                end_builds(layout)
                layout.remove_leftovers()
    installed = Installed(layout=layout)
    built = {
        program.name: layout.directory(program) / program.name
        for program in wanted
        if program.binaries
    }
    on_path = {
        program: there for program in wanted if (there := installed.find(program)) is not None
    }
    return Tools(
        programs={**built, **{program.name: there.path for program, there in on_path.items()}},
        crds=layout.crds,
        charts=layout.directory(PROGRAMS["charts"]),
        versions=_in_use(on_path),
    )


def _in_use(on_path: Mapping[Program, OnThisMachine]) -> dict[str, str]:
    """Return the versions by system where these programs on PATH are used."""
    used = dict(versions)
    for program, there in on_path.items():
        if (test := program.on_path) and test.system:
            used[test.system] = there.version
            for system in test.inside:
                used.pop(system, None)
    return used


def is_built(programs: Sequence[str]) -> bool:
    """Return whether `ensure` would find the programs, and build none."""
    return not _missing([PROGRAMS[name] for name in programs], Layout())


def _missing(programs: Sequence[Program], layout: Layout) -> list[Program]:
    installed = Installed(layout=layout)
    return [
        program
        for program in programs
        if installed.find(program) is None and not layout.is_built(program)
    ]


def build_all(programs: Sequence[Program], layout: Layout, progress: Progress) -> None:
    """Build the programs, each completely or not at all; the caller holds the lock."""
    end_builds(layout)
    if not programs:
        return
    _check_space(programs, layout)
    folders = [
        path.parent.relative_to(layout.sources).as_posix()
        for program in programs
        for path in (layout.sources / program.folder).rglob("go.mod")
    ]
    layout.work.mkdir(parents=True, exist_ok=True)
    try:
        go = find_go(layout, folders, progress)
        for program in programs:
            unfinished = layout.work / f"new-{program.name}"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            Recipe(program=program, target=unfinished, go=go, progress=progress).build()
            layout.finish(program, unfinished)
            layout.log(program).unlink(missing_ok=True)
            progress.say(f"{program.name}: {layout.size_mb(layout.directory(program))} MB")
    except Exception as error:
        layout.remove_leftovers()
        if isinstance(error, OSError):
            raise ToolchainError(
                f"The build in {layout.home} stopped ({error}): see that the folder can be "
                "written and has space."
            ) from error
        raise
    with progress.step("remove Go's caches and what older versions left"):
        layout.remove_leftovers()


def _check_space(programs: Sequence[Program], layout: Layout) -> None:
    needed_gb = sum(program.disk_gb for program in programs)
    free_mb = layout.free_mb()
    if free_mb < needed_gb * 1000:
        names = ", ".join(program.name for program in programs)
        raise ToolchainError(
            f"Building {names} needs {needed_gb} GB of free disk for a while and "
            f"{layout.home} has {free_mb / 1000:.1f} GB: free some space, or put the programs "
            "on PATH."
        )


@contextmanager
def lock(layout: Layout, progress: Progress | None) -> Iterator[bool]:
    """Hold the lock of the builds; without `progress`, yield False where another build has it."""
    with (layout.home / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if progress is None:
                yield False
                return
            with progress.step("wait for the build that another command has begun"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield True
