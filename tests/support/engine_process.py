"""A process that is named as the engine is, and does nothing."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from fleet.resume.locks import ENGINE


@contextmanager
def engine_process(folder: Path) -> Iterator[psutil.Process]:
    """The process of a program in `folder`."""
    program = folder / ENGINE
    shutil.copy2(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "1000"]) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.kill()
