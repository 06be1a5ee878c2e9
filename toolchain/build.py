"""Makes sure that the programs are there: what is on PATH and fits is used, the rest is built.

A program is built in a folder of its own and renamed into place when it is complete, so a build
that is interrupted at any moment leaves no half of a program behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolchain.errors import ToolchainError
from toolchain.go import end_builds, find_go
from toolchain.layout import Layout
from toolchain.on_path import Installed
from toolchain.programs import PROGRAMS, VERSIONS
from toolchain.progress import Progress
from toolchain.recipes import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from toolchain.program import Program

__all__ = ["ToolchainError", "Tools", "ensure", "versions"]

versions = VERSIONS
"""What is built, by system: {"kubernetes": "1.34.1", …}; a program on PATH may be newer."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The programs that were asked for, ready to run."""

    programs: Mapping[str, Path]
    crds: Path  # one subfolder of YAML files a system: karpenter, volcano, metal3

    def path(self, program: str) -> Path:
        """The executable of `program`."""
        return self.programs[program]

    def environment(self) -> dict[str, str]:
        """What the environment of a Pulumi process in a rehearsal needs on top of the usual."""
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
    programs: Sequence[str] = ("pulumi", "control-plane", "kwok", "crds"),
    *,
    console: Console | None,
    layout: Layout | None = None,
) -> Tools:
    """The programs, built first where needed; prints to `console` only when something is done."""
    layout = layout or Layout()
    wanted = [PROGRAMS[name] for name in programs]
    progress = Progress(console)
    if _missing(wanted, layout):
        layout.home.mkdir(parents=True, exist_ok=True)
        with _lock(layout, progress):
            _build(_missing(wanted, layout), layout, progress)
    elif layout.leftovers():
        with _lock(layout, None) as alone:
            if alone:
                end_builds(layout)
                layout.remove_leftovers()
    installed = Installed(layout=layout)
    found = {
        program.name: installed.find(program) or layout.directory(program) / program.name
        for program in wanted
        if program.binaries
    }
    return Tools(programs=found, crds=layout.crds)


def _missing(programs: Sequence[Program], layout: Layout) -> list[Program]:
    installed = Installed(layout=layout)
    return [
        program
        for program in programs
        if installed.find(program) is None and not layout.is_built(program)
    ]


def _build(programs: Sequence[Program], layout: Layout, progress: Progress) -> None:
    """Builds the programs, each whole or not at all; the caller holds the lock."""
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
def _lock(layout: Layout, progress: Progress | None) -> Iterator[bool]:
    """Holds the lock of the builds; waits for it only with `progress`. False: another has it."""
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
