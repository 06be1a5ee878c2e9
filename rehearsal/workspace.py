"""The directory of an environment's rehearsal, `.rehearsal/<env>/`, and its lock.

A rehearsal writes all its files there (mode 0700, for the generated keys), so rehearsals of two
environments or two clones share nothing. The lock refuses a second rehearsal of an environment; the
next one ends processes that a killed one has left.
"""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import psutil

from rehearsal import lakefs_server
from rehearsal.errors import RehearsalError
from rehearsal.processes import Processes, Record

STOP_DEADLINE_S = 20.0
NEEDED_MB = 300  # dev writes 160, most of it in advance by etcd


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """The rehearsal directory of `environment` in the checkout at `root`."""

    root: Path
    environment: str

    @property
    def directory(self) -> Path:
        """The directory of this rehearsal."""
        return self.root / ".rehearsal" / self.environment

    @cached_property
    def processes(self) -> Processes:
        """The processes that this directory records."""
        return Processes(self.directory)

    @property
    def kept_mark(self) -> Path:
        """The file that exists while a rehearsal that passed is kept up with `--keep`."""
        return self.directory / "kept"

    @property
    def report(self) -> Path:
        """The report of the last rehearsal."""
        return self.directory / "report.json"

    @property
    def statement(self) -> Path:
        """What the last rehearsal states, unsigned."""
        return self.directory / "statement.json"

    @property
    def signed_statement(self) -> Path:
        """The same in an envelope, where somebody has signed it."""
        return self.directory / "statement.signed.json"

    @property
    def before(self) -> Path:
        """The files of the commit from which a change is rehearsed, while they are needed."""
        return self.directory / "before"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the environment's lock; raises RehearsalError while another rehearsal has it."""
        with self._lock_file() as lock:
            if not _try_lock(lock):
                raise RehearsalError(
                    f"A rehearsal of {self.environment} is running (process {_holder(lock).pid}); "
                    f"wait for it, or end it with `make rehearse-stop ENV={self.environment}`."
                )
            _sign(lock)
            yield

    def begin(self) -> tuple[str, ...]:
        """Empty the directory for a new rehearsal, but for the last report; the caller locks it.

        Ends processes that a killed rehearsal has left, and returns their names. Raises
        RehearsalError where a kept rehearsal is still up, or has left something on a lakeFS server.
        """
        if self.is_kept:
            self._check_kept()
            raise RehearsalError(
                f"A rehearsal of {self.environment} was kept and is still up: "
                f"`fleet rehearse {self.environment} --again` takes your edits, "
                f"`make rehearse-stop ENV={self.environment}` ends it."
            )
        ended = self.processes.stop()
        lakefs_server.take_back(self.directory)
        for path in self.directory.iterdir():
            if path.name in ("lock", self.report.name):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._check_space()
        return ended

    def resume(self) -> None:
        """Check that a kept rehearsal is up; raises RehearsalError where there is none."""
        if not self.is_kept:
            raise RehearsalError(
                f"No rehearsal of {self.environment} is kept: "
                f"`fleet rehearse {self.environment} --keep` leaves one running."
            )
        self._check_kept()

    def _check_kept(self) -> None:
        if broken := self.processes.ended():
            raise RehearsalError(
                f"The kept rehearsal of {self.environment} is broken, as {broken} "
                f"End it with `make rehearse-stop ENV={self.environment}` and rehearse again."
            )

    @property
    def is_kept(self) -> bool:
        """Whether a rehearsal was kept and still runs."""
        return self.kept_mark.exists() and bool(self.processes.running())

    def _check_space(self) -> None:
        free_mb = shutil.disk_usage(self.directory).free // 10**6
        if free_mb < NEEDED_MB:
            raise RehearsalError(
                f"A rehearsal writes up to {NEEDED_MB} MB and {self.directory} has {free_mb} MB of "
                "free disk: free some space."
            )

    def stop(self) -> tuple[str, ...]:
        """End the rehearsal, running or kept, and return the names of the processes that it had."""
        if not self.directory.is_dir():
            return ()
        running = self.processes.running()
        with self._lock_file() as lock:
            self._wait_for(lock)
            ended = self.processes.stop()
            self.kept_mark.unlink(missing_ok=True)
            self.clear_twin()
        return ended or running

    def clear_twin(self) -> None:
        """Remove the files that only a running twin needs; logs, state and report stay.

        Raises RehearsalError where something stays on a lakeFS server that the user has named.
        """
        needed = ("etcd", "certificates", "controllers", "kubelets", "pulumi-home", "node-check")
        for name in (*needed, self.before.name):
            shutil.rmtree(self.directory / name, ignore_errors=True)
        for name in ("kubeconfig", "providers.json"):
            (self.directory / name).unlink(missing_ok=True)
        lakefs_server.take_back(self.directory)

    def _lock_file(self) -> IO[str]:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        return (self.directory / "lock").open("a+")

    def _wait_for(self, lock: IO[str]) -> None:
        """Terminate the rehearsal that holds the lock, and wait until it has ended."""
        deadline = time.monotonic() + STOP_DEADLINE_S
        asked = False
        while not _try_lock(lock):
            holder = _holder(lock)
            process = holder.leader()
            if process and not asked:
                process.terminate()
                asked = True
            if time.monotonic() > deadline:
                raise RehearsalError(
                    f"The rehearsal of {self.environment} (process {holder.pid}) did not end within"
                    f" {STOP_DEADLINE_S:.0f} s; end it with `kill -9 {holder.pid}` and run"
                    f" `make rehearse-stop ENV={self.environment}` again."
                )
            time.sleep(0.05)


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(lock: IO[str]) -> None:
    lock.seek(0)
    lock.truncate()
    json.dump({"pid": os.getpid(), "started": psutil.Process().create_time()}, lock)
    lock.flush()


def _holder(lock: IO[str]) -> Record:
    lock.seek(0)
    try:
        signed = json.loads(lock.read())
    except ValueError:  # it has the lock and has not signed yet
        signed = {"pid": 0, "started": 0.0}
    return Record(name="fleet rehearse", pid=signed["pid"], started=signed["started"])
