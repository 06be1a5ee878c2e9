"""Starts, records and ends the processes of a rehearsal; each has a session of its own.

A record holds pid and start time, so that no other process is ended that has the pid by now. Every
process also has the rehearsal's directory in its environment, by which those are found whose leader
is gone (a language host, a start cut short by SIGKILL). Clients end before the API server, and the
API server before etcd, so that no process waits for a server that is gone.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from engine.interrupts import shielded
from rehearsal.errors import RehearsalError
from rehearsal.log_reason import with_reason

MARK = "GPU_FLEET_REHEARSAL"
SERVERS = ("kube-apiserver", "etcd")  # in the order in which they end, after everything else
START_TOLERANCE_S = 1.0  # psutil derives the start from the wall clock, which time servers nudge
GRACE_S = 1.5
KILL_DEADLINE_S = 3.0
ENGINE = "pulumi"  # how the names of those processes begin that are meant to end
ENGINE_PATIENCE_S = (20.0, 5.0)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One started process, the leader of its session."""

    name: str
    pid: int
    started: float  # seconds since the epoch, as psutil tells it

    def leader(self) -> psutil.Process | None:
        """The process; None when it is gone or its pid belongs to another one now."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < START_TOLERANCE_S
        except psutil.NoSuchProcess:
            return None
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None


@dataclass(frozen=True, kw_only=True)
class _Start:
    """How a process was started, so that it can be started again."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path | None
    controller: bool


class Processes:
    """The processes of the rehearsal in `directory`; its folder `processes` has their records."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.records_directory = self.directory / "processes"
        self.logs = self.directory / "logs"
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._starts: dict[str, _Start] = {}
        self._killed: set[str] = set()

    def start(  # noqa: PLR0913  # an option each
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        output: Path | None = None,
        cwd: Path | None = None,
        controller: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Starts `argv` in a session of its own; its log is `logs/<name>.log`.

        The log of one that `kill` has ended goes on.
        With `output`, standard output goes to that file and the log holds standard error alone.
        """
        words = tuple(map(str, argv))
        self._starts[name] = _Start(argv=words, env=env, cwd=cwd, controller=controller)
        self.records_directory.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        mode = "ab" if name in self._killed else "wb"
        with shielded(), self.log(name).open(mode) as log:
            stdout = output.open("wb") if output else log
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=log,
                env={**env, MARK: str(self.directory)},
                cwd=cwd,
                start_new_session=True,
            )
            if output:
                stdout.close()
            self._children[process.pid] = process
            self._record(name, process.pid)
        return process

    @property
    def controllers(self) -> tuple[str, ...]:
        """The names of the controllers of the twin's cluster that were started here."""
        return tuple(name for name, start in self._starts.items() if start.controller)

    def kill(self, name: str) -> None:
        """Sends SIGKILL to a process and to all of its session, as a power cut does."""
        record = self._newest()[name]
        self._killed.add(name)
        child = self._children.get(record.pid)
        while members := self._members([record]):  # one may have started another meanwhile
            for process in members:
                _signal(process.kill)
            if child:
                child.wait()  # psutil would take its exit code away
            psutil.wait_procs([each for each in members if each.pid != record.pid], timeout=0.05)

    def restart(self, name: str) -> None:
        """Kills a process of ours and starts it again, as it was started."""
        with shielded():
            self.kill(name)
            self.start_again(name)

    def start_again(self, name: str) -> None:
        """Starts a process that has ended as it was started; keeps the log of before."""
        start, log = self._starts[name], self.log(name)
        with shielded():
            log.rename(log.with_suffix(".killed.log"))
            self.start(name, start.argv, env=start.env, cwd=start.cwd, controller=start.controller)

    def log(self, name: str) -> Path:
        """The log file of the process `name`."""
        return self.logs / f"{name}.log"

    def records(self) -> tuple[Record, ...]:
        """Every recorded process, running or ended, oldest first."""
        found = []
        for path in self.records_directory.glob("*.json"):
            try:
                found.append(Record(**json.loads(path.read_text(encoding="utf-8"))))
            except (ValueError, TypeError):  # cut short by a full disk or a power cut
                path.unlink(missing_ok=True)
        return tuple(sorted(found, key=lambda record: record.started))

    def end(self, names: Collection[str]) -> None:
        """Ends the processes of these names; whoever watches sees none of them end by itself."""
        found = [record for record in self.records() if record.name in names]
        with shielded():
            for record in found:
                self._path(record).unlink(missing_ok=True)
            self._end(found)

    def running(self) -> tuple[str, ...]:
        """The names of the recorded processes that still run."""
        return tuple(record.name for record in self.records() if record.leader())

    def ended(self, *, starting: str = "") -> str | None:
        """Return the sentence of a server that has ended, the one that others need first.

        `starting` is being started, and whoever starts it watches it.
        """
        gone = [
            name
            for name, record in self._newest().items()
            if name != starting and not name.startswith(ENGINE) and not self._runs(record)
        ]
        return self.how_it_ended(max(gone, key=_position)) if gone else None

    def check(self, *, starting: str = "") -> None:
        """Raise RehearsalError as soon as a server has ended."""
        sentence = self.ended(starting=starting)
        if sentence:
            raise RehearsalError(sentence)

    def how_it_ended(self, name: str) -> str:
        """Return how a process ended: by a signal, or with an exit code and a reason."""
        log, record = self.log(name), self._newest().get(name)
        child = self._children.get(record.pid) if record else None
        if child is None or child.returncode is None:  # another command has started it
            return with_reason(f"{name} has ended", log)
        if child.returncode < 0:
            return f"{name} was killed by signal {-child.returncode} (log: {log})."
        return with_reason(f"{name} ended with exit code {child.returncode}", log)

    def finish_engine(self) -> bool:
        """Ask a running engine to end; return whether it could write its state.

        One SIGINT lets its running steps finish, a second one cancels them.
        """
        found = [record for record in self.records() if record.name.startswith(ENGINE)]
        running = [leader for record in found if (leader := record.leader())]
        for patience_s in ENGINE_PATIENCE_S:
            for process in running:
                _signal(lambda: process.send_signal(signal.SIGINT))  # noqa: B023  # called at once
            _, running = psutil.wait_procs(running, timeout=patience_s)
        return not running

    def stop(self) -> tuple[str, ...]:
        """Ends all processes, clients first, servers last; returns the names of those that ran."""
        with shielded(forget=True):
            records = self.records()
            names = tuple(record.name for record in records if self._members([record]))
            clients = [record for record in records if record.name not in SERVERS]
            for group in (clients, *([r for r in records if r.name == s] for s in SERVERS)):
                self._end(group)
            _kill(self._marked())
            for path in self.records_directory.glob("*.json"):
                path.unlink(missing_ok=True)
        return names

    def _newest(self) -> dict[str, Record]:
        """The last process of each name; one whose port was taken is started again."""
        return {record.name: record for record in self.records()}

    def _runs(self, record: Record) -> bool:
        child = self._children.get(record.pid)
        return child.poll() is None if child else record.leader() is not None

    def _record(self, name: str, pid: int) -> None:
        try:
            started = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            return
        record = Record(name=name, pid=pid, started=started)
        path = self._path(record)
        scratch = path.with_suffix(".new")
        scratch.write_text(json.dumps(asdict(record)))
        scratch.rename(path)

    def _path(self, record: Record) -> Path:
        return self.records_directory / f"{record.name}-{record.pid}.json"

    def _end(self, records: Sequence[Record]) -> None:
        """Sends SIGTERM to every process of the sessions, and SIGKILL after the grace period."""
        members = self._members(records)
        for process in members:
            _signal(process.terminate)
        deadline = time.monotonic() + GRACE_S
        while members and time.monotonic() < deadline:
            psutil.wait_procs(members, timeout=0.05)
            members = self._members(records)
        _kill(members)

    def _members(self, records: Sequence[Record]) -> list[psutil.Process]:
        """The live processes in the sessions of these records.

        A session outlives its leader, and its number is given away again only when it is empty:
        without the leader, a member counts when it carries this rehearsal's mark.
        """
        leaders = {record.pid: record.leader() for record in records}
        found = [leader for leader in leaders.values() if leader]
        for process in psutil.process_iter():
            session = _session(process)
            if session is None or session not in leaders or process.pid == session:
                continue
            if leaders[session] or self._is_marked(process):
                found.append(process)
        return found

    def _marked(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._is_marked(process)]

    def _is_marked(self, process: psutil.Process) -> bool:
        if process.pid == os.getpid():
            return False
        try:
            return bool(process.environ().get(MARK) == str(self.directory))
        except (psutil.Error, OSError):
            return False


def _position(name: str) -> int:
    return SERVERS.index(name) if name in SERVERS else -1


def _session(process: psutil.Process) -> int | None:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return os.getsid(process.pid)
    except (psutil.Error, OSError):
        return None


def _signal(send: Callable[[], None]) -> None:
    try:
        send()
    except psutil.Error:
        return


def _kill(processes: Iterable[psutil.Process]) -> None:
    """Sends SIGKILL and waits until none runs; a zombie does not count, it waits for its parent."""
    victims = list(processes)
    for process in victims:
        _signal(process.kill)
    deadline = time.monotonic() + KILL_DEADLINE_S
    while any(_session(process) is not None for process in victims):
        if time.monotonic() > deadline:
            return
        psutil.wait_procs(victims, timeout=0.05)
