"""Reads a machine's /proc and /sys below a root, and runs its programs in that root."""

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hardware.cpuset import CpusetError, parse_list

COMMAND_TIMEOUT_S = 120
PROGRAM_PATH = "/usr/bin:/usr/sbin:/bin:/sbin:/opt/bin"
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_COMM_LENGTH = 15
"""The kernel cuts a process's name to this (TASK_COMM_LEN)."""

Run = Callable[[Sequence[str]], str]


class FailedCommandError(RuntimeError):
    """A program of the machine that failed; the message says how in a few words."""


@dataclass(frozen=True, kw_only=True)
class LiveMachine:
    """The machine whose file systems lie below `root`; `run` runs one of its programs."""

    root: Path
    run: Run

    def text(self, path: str) -> str | None:
        """Reads a file without its last newline; None where it cannot be read."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Reads a file that holds one number."""
        text = self.text(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def cpus(self, path: str) -> frozenset[int] | None:
        """Reads a file that holds a CPU list of the kernel."""
        text = self.text(path)
        try:
            return None if text is None else parse_list(text)
        except CpusetError:
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """Lists a directory, sorted; empty where there is no such directory."""
        try:
            return tuple(sorted(os.listdir(self.root / path)))
        except OSError:
            return ()

    def pci_address(self, path: str) -> str | None:
        """Follows a link of sysfs to its PCI device, which may lie above the linked one."""
        if not (self.root / path).exists():
            return None
        parts = (self.root / path).resolve().parts
        return next((part for part in reversed(parts) if _PCI_ADDRESS.fullmatch(part)), None)

    def runs(self, program: str) -> bool:
        """True while a process has this name."""
        name = program[:_COMM_LENGTH]
        processes = (entry for entry in self.names("proc") if entry.isdigit())
        return any(self.text(f"proc/{process}/comm") == name for process in processes)


def live(root: Path) -> LiveMachine:
    """Returns a real machine: this one for /, else the one whose root is mounted at `root`."""

    def run(command: Sequence[str]) -> str:
        def enter() -> None:
            if root != Path("/"):
                os.chroot(root)
            os.chdir("/")

        try:
            done = subprocess.run(
                ["/usr/bin/env", f"PATH={PROGRAM_PATH}", *command],
                preexec_fn=enter,  # this program has one thread
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise FailedCommandError(f"silent for {COMMAND_TIMEOUT_S} s") from error
        except (OSError, subprocess.SubprocessError) as error:
            raise FailedCommandError(f"not to be started ({error})") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            reason = f": {said[-1]}" if said else ""
            raise FailedCommandError(f"ended with {done.returncode}{reason}")
        return done.stdout

    return LiveMachine(root=root, run=run)
