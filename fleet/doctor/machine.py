"""This machine: Python, packages, disk, memory, loopback, and the programs of a rehearsal."""

import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from fleet.doctor.finding import Finding, Purpose
from toolchain.bootstrap import Bootstrap
from toolchain.build import REHEARSAL, Installed
from toolchain.layout import Layout
from toolchain.program import Program
from toolchain.programs import PROGRAMS

LOWEST = (3, 11)
MEMORY_GB = 3  # the processes of dev take 2.2 GB together
REHEARSAL_GB = 1  # dev writes 160 MB


def of_machine(root: Path, layout: Layout) -> Iterator[Finding]:
    """Yield what plans, checks and rehearsals need."""
    yield _python()
    yield _packages(root)
    yield _program("look", "bash", "checks the scripts in boot data")
    yield _program("look", "git", "names the commit that is compared with")
    yield _program("rehearse", "make", "`fleet rehearse` does without")
    wanted = [PROGRAMS[name] for name in REHEARSAL]
    found = [_built(program, layout) for program in wanted]
    yield _disk(root, [program for program, each in zip(wanted, found, strict=True) if each.mend])
    yield _memory()
    yield _loopback()
    yield from found


def _python() -> Finding:
    version = platform.python_version()
    mend = "" if sys.version_info >= LOWEST else "install Python 3.11 or newer"
    return Finding(purpose="look", what="Python", found=version, mend=mend)


def _packages(root: Path) -> Finding:
    done = Bootstrap(root).is_done()
    found = "as locked" if done else "not as requirements.lock and pyproject.toml say"
    return Finding(
        purpose="look", what="packages", found=found, mend="" if done else "make bootstrap"
    )


def _program(purpose: Purpose, name: str, use: str) -> Finding:
    """Find a program that is useful."""
    path = shutil.which(name)
    mend = "" if path else f"install {name}"
    found = path or f"not on PATH ({use})"
    return Finding(purpose=purpose, what=name, found=found, mend=mend, needed=False)


def _disk(root: Path, to_build: list[Program]) -> Finding:
    free = shutil.disk_usage(root).free / 1e9
    wanted = REHEARSAL_GB + sum(program.disk_gb for program in to_build)
    use = "to build what is missing and rehearse" if to_build else "to rehearse"
    mend = "" if free >= wanted else f"free {wanted - free:.0f} GB on the disk of {root}"
    found = f"{free:.0f} GB free, {wanted} GB needed {use}"
    return Finding(purpose="rehearse", what="disk", found=found, mend=mend)


def _memory() -> Finding:
    available = psutil.virtual_memory().available / 1e9
    enough = available >= MEMORY_GB
    mend = "" if enough else f"close other programs: {MEMORY_GB} GB have to be available"
    found = f"{available:.0f} GB available, {MEMORY_GB} GB needed"
    return Finding(purpose="rehearse", what="memory", found=found, mend=mend)


def _loopback() -> Finding:
    """Listen on a free port of 127.0.0.1, as every server of a rehearsal does."""
    found, mend = "a port of 127.0.0.1 answers", ""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError as error:
        found = f"127.0.0.1 does not answer ({error.strerror or error})"
        mend = "sudo ip link set lo up"
    return Finding(purpose="rehearse", what="loopback", found=found, mend=mend)


def _built(program: Program, layout: Layout) -> Finding:
    title = f"{program.name} {program.version(layout.sources)}"
    if there := Installed(layout=layout).find(program):
        return Finding(
            purpose="rehearse", what=title, found=f"{there.version} on PATH: {there.path}"
        )
    if layout.is_built(program):
        return Finding(purpose="rehearse", what=title, found="built")
    return Finding(
        purpose="rehearse", what=title, found="neither built nor on PATH", mend="make toolchain"
    )
