"""Makes .venv with the locked packages and this project: `python3 toolchain/bootstrap.py`.

Runs before anything is installed, so it uses the standard library only. `make bootstrap` starts it
with a Python that is new enough.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAUNCHER = """#!/bin/sh
# Pulumi as this project runs it: the one on PATH if it fits, else the toolchain's.
exec "$(dirname "$0")/python" -P -m toolchain exec pulumi "$@"
"""
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "install")


class BootstrapError(RuntimeError):
    """The bootstrap failed; the text is a sentence with the cause and what the user can do."""


class Bootstrap:
    """The virtual environment of the checkout in `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.stamp = self.venv / "bootstrap.stamp"
        self.lock = root / ".toolchain" / "bootstrap.lock"
        self.log = root / ".toolchain" / "logs" / "bootstrap.log"

    def is_done(self) -> bool:
        """Return whether .venv is complete, in its place, and made from the current files."""
        return self._made() == self.key() and (self.venv / "bin" / "python").exists()

    def key(self) -> str:
        """Return what .venv depends on: a line for its place, one for the files.

        The Python that runs the bootstrap does not count: a .venv stays while its own Python does.
        """
        digest = hashlib.sha256()
        for name in ("requirements.lock", "pyproject.toml"):
            digest.update((self.root / name).read_bytes())
        return f"{self.venv}\n{digest.hexdigest()}\n"

    def run(self) -> None:
        """Make or update .venv; remove the stamp first and write it last."""
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        with self.lock.open("a") as file:
            wait_for(file.fileno())
            if self.is_done():
                return
            updates = self._can_be_updated()
            self.stamp.unlink(missing_ok=True)
            if not updates:
                with step("make .venv"):
                    self._make()
            python = str(self.venv / "bin" / "python")
            lock = ("--require-hashes", "--requirement", "requirements.lock")
            with step("install the locked packages"):
                self._call([python, *PIP, *lock], "The locked packages could not be installed")
            with step("install this project"):
                project = ("--no-deps", "--no-build-isolation", "--editable", ".")
                self._call([python, *PIP, *project], "This project could not be installed")
            self.write_launcher()
            unfinished = self.stamp.with_suffix(".new")
            unfinished.write_text(self.key())
            unfinished.replace(self.stamp)

    def write_launcher(self) -> None:
        """Put `pulumi` beside `fleet`."""
        launcher = self.venv / "bin" / "pulumi"
        scratch = launcher.with_suffix(".new")
        scratch.write_text(LAUNCHER)
        scratch.chmod(0o755)
        scratch.replace(launcher)

    def _can_be_updated(self) -> bool:
        """Return whether .venv was once complete in this place, and its Python still exists."""
        python = self.venv / "bin" / "python"
        return self._made().startswith(f"{self.venv}\n") and python.exists()

    def _made(self) -> str:
        """Return the stamp of .venv; empty when it was never complete."""
        try:
            return self.stamp.read_text(encoding="utf-8")
        except OSError:
            return ""

    def _make(self) -> None:
        # This may run on the Python of .venv, which is removed below.
        python = getattr(sys, "_base_executable", sys.executable)
        try:
            import ensurepip  # noqa: F401, PLC0415  # Debian ships Python without it
            import venv  # noqa: F401, PLC0415  # as above
        except ImportError as error:
            version = f"{sys.version_info[0]}.{sys.version_info[1]}"
            raise BootstrapError(
                f"{python} lacks the module {error.name}, which makes virtual environments: "
                f"install it (Debian and Ubuntu: apt install python{version}-venv)."
            ) from error
        shutil.rmtree(self.venv, ignore_errors=True)
        self._call([python, "-m", "venv", str(self.venv)], ".venv could not be made")

    def _call(self, command: list[str], failure: str) -> None:
        process = subprocess.Popen(
            command,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        if process.returncode:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self.log.write_text(output)
            raise BootstrapError(
                f"{failure} ({cause(output)}): check the network and pip's settings, "
                f"then try again; the log is {self.log}."
            )


def cause(output: str) -> str:
    """Return the line of pip's output with the error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error:")]
    return (errors or lines or ["no output"])[0]


def wait_for(lock: int) -> None:
    """Take the lock; print a line when another bootstrap has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with step("wait for another command that makes .venv"):
            fcntl.flock(lock, fcntl.LOCK_EX)


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Print the step `text`, run the block, then print how long it took."""
    start = time.monotonic()
    say(f"bootstrap: {text} …")
    try:
        yield
    except BaseException:
        say("\n")
        raise
    say(f" {time.monotonic() - start:.1f} s\n")


def say(text: str) -> None:
    """Write to standard error, whose encoding may lack some letters."""
    encoding = sys.stderr.encoding or "ascii"
    sys.stderr.write(text.encode(encoding, "replace").decode(encoding))
    sys.stderr.flush()


def interrupt(_number: int, _frame: object) -> None:
    """Raise KeyboardInterrupt, so that SIGTERM ends a bootstrap like Ctrl-C."""
    raise KeyboardInterrupt


def main() -> int:
    """Run the bootstrap; return the exit code."""
    bootstrap = Bootstrap(ROOT)
    if bootstrap.is_done():
        if not (bootstrap.venv / "bin" / "pulumi").exists():
            bootstrap.write_launcher()
        return 0
    signal.signal(signal.SIGTERM, interrupt)
    try:
        bootstrap.run()
    except BootstrapError as error:
        say(f"bootstrap: {error}\n")
        return 1
    except KeyboardInterrupt:
        say("bootstrap: interrupted\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
