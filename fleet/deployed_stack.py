"""The deployed stack of an environment, through the engine's command line."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.events import EventLog, Outcome
from engine.interrupts import shielded, wait
from fleet.destroy.deployed import Resource
from fleet.preview.refusals import refusals
from fleet.state_folder import mend
from settings import how_to_set
from settings.names import PROJECT

LOCKED = ("the stack is currently locked", "Another update is currently in progress")
"""What the engine says of a lock: in a bucket or folder, and in Pulumi Cloud."""
NO_STACK = "no stack named"
NOT_SET = "not found for stack"
CONFIG_FILE = "--config-file"
NO_RESOURCE = "no resource named"
LOOK = ("refresh", "--preview-only", "--run-program=false")
CLOUD = ("http:", "https:")
IN_PROGRESS = "Update in progress:"
UNREADABLE = "failed to load checkpoint: EOF"


class StackError(RuntimeError):
    """The stack cannot be read or changed; the text is a sentence with what to do."""


class StackLockedError(StackError):
    """Another command has the stack, or was killed and has left its lock; `words` say which."""

    def __init__(self, sentence: str, words: str) -> None:
        super().__init__(sentence)
        self.words = words


@dataclass(frozen=True, kw_only=True)
class DeployedStack:
    """`arguments` name the stack and its configuration to every command of `pulumi`."""

    root: Path
    environment: str
    pulumi: Path
    variables: Mapping[str, str]
    arguments: tuple[str, ...]
    logs: Path | None = None
    """The folder of the engine's own words; `.preview` of the checkout where none is given."""

    def log(self, verb: str) -> Path:
        """The file with the engine's own words about its last `verb`."""
        return (self.logs or self.root / ".preview") / f"{verb}-{self.environment}.log"

    def exported(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the whole state as `pulumi stack export` prints it.

        Its secrets are encrypted, or with `secrets` in the clear.

        Its `deployment` is empty where nothing was deployed. A state in a folder that a killed
        engine made unreadable is mended. Raises StackError where there is no such stack.
        """
        words = ("stack", "export", *(("--show-secrets",) if secrets else ()), self.arguments[0])
        found: dict[str, Any] = json.loads(self._told(self._read(*words)))
        return {**found, "deployment": found.get("deployment") or {}}

    def lock(self) -> str | None:
        """Return what the engine says of those who have the stack; None where nobody has it.

        It has no command that only looks. In a bucket or folder it takes the lock to preview a
        refresh, which writes no state, and is asked for a resource that no stack has: that it
        refuses before it starts a provider (Refresh in pkg/backend/diy/backend.go, checkTargets in
        pkg/engine/deployment.go of pulumi v3.220.0). Pulumi Cloud tells of an update that runs.
        """
        if self._backend().startswith(CLOUD):
            _, found, told = self._told(self._asked("stack", self.arguments[0])).partition(
                IN_PROGRESS
            )
            return found + "\n".join(told.splitlines()[:3]) if found else None
        target = f"urn:pulumi:{self.environment}::{PROJECT}::fleet:index:Nothing::nothing"
        with tempfile.TemporaryDirectory(prefix="fleet-lock-") as name:
            done = self._read(*LOOK, f"--target={target}", *_copied(self.arguments, Path(name)))
        if words := _lock_in(done.stderr):
            return words
        if NO_RESOURCE not in done.stderr:
            self._told(done)
        return None

    def _read(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Ask a command that needs the state, and mend that where a killed engine made it so."""
        done = self._asked(*words)
        if UNREADABLE in done.stderr and mend(self._backend()):
            done = self._asked(*words)
        if NO_STACK in done.stderr:
            raise StackError(
                f"The backend has no stack {self.environment}, so nothing was deployed to it from "
                "there. Where another backend has it, run `pulumi login ADDRESS` first."
            )
        return done

    def resources(self) -> list[Resource]:
        """Return what the state holds; raises StackError where there is no such stack."""
        found: list[Resource] = self.exported()["deployment"].get("resources") or []
        return found

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Make `state` the state of the stack, its secrets encrypted anew; no file has them clear.

        Raises StackLockedError where somebody has the stack.
        """
        self._told(self._asked("stack", "import", self.arguments[0], given=json.dumps(state)))

    def open(self) -> None:
        """Take away the lock that an engine has left, whoever that was."""
        self._told(self._asked("cancel", "--yes", self.arguments[0]))

    def secret(self, name: str) -> str:
        """Return a secret of the stack's configuration; raises StackError where it is not set."""
        found = self.secret_if_set(name)
        if found is None:
            raise StackError(
                f"{PROJECT}:{name} is not set; set it with `{how_to_set(name, self.environment)}`."
            )
        return found

    def secret_if_set(self, name: str) -> str | None:
        """Return a secret of the stack's configuration; None where it is not set."""
        done = self._asked("config", "get", f"{PROJECT}:{name}", *self.arguments)
        return None if NOT_SET in done.stderr else self._told(done).rstrip("\n")

    def unprotect(self, urns: Sequence[str]) -> None:
        """Let the resources be deleted from now on."""
        self._told(self._asked("state", "unprotect", *urns, self.arguments[0], "--yes"))

    def destroy(self, progress: Callable[[Outcome], None]) -> None:
        """Delete everything but what is protected and what that needs; raises StackError."""
        self._operate("destroy", ("--exclude-protected",), progress)

    def refresh(self, urns: Sequence[str], progress: Callable[[Outcome], None]) -> None:
        """Read these resources from their clouds; what is not there leaves the state."""
        self._operate("refresh", [f"--target={urn}" for urn in urns], progress)

    def _operate(self, verb: str, more: Sequence[str], progress: Callable[[Outcome], None]) -> None:
        log = self.log(verb)
        log.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"fleet-{verb}-") as name:
            events = EventLog(Path(name) / "events.jsonl")
            argv = (verb, "--yes", "--skip-preview", *more, *self.arguments)
            how = (f"--event-log={events.path}", "--non-interactive", "--color=never")
            with log.open("w") as output:
                process = subprocess.Popen(
                    [self.pulumi, *argv, *how],
                    cwd=self.root,
                    env={**self.variables, "PULUMI_DEBUG_COMMANDS": "1"},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches it by `wait` alone, once
                )
                code = wait(process, lambda: _follow(events, progress))
            _follow(events, progress)
            if code:
                raise self._failed(events.outcome, log)

    def _failed(self, outcome: Outcome, log: Path) -> StackError:
        output = log.read_text(encoding="utf-8")
        if found := _lock_in(output):
            return self._locked(found)
        told = refusals(self.environment, outcome, output) or ("It said nothing.",)
        return StackError("\n".join([*told, f"The engine's own words are in {log}."]))

    def _asked(self, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        with shielded():  # Ctrl-C reaches it, too; killed, it would leave its lock
            return subprocess.run(
                [self.pulumi, *words, "--non-interactive", "--color=never"],
                cwd=self.root,
                env=dict(self.variables),
                input=given,
                capture_output=True,
                text=True,
                check=False,
            )

    def _backend(self) -> str:
        """Return the address of the backend, such as `file://~` or `s3://bucket`."""
        return str(json.loads(self._told(self._asked("whoami", "--json")))["url"])

    def _told(self, done: subprocess.CompletedProcess[str]) -> str:
        """Return what a command has printed; raises StackError where it failed."""
        if done.returncode == 0:
            return done.stdout
        if found := _lock_in(done.stderr):
            raise self._locked(found)
        words = " ".join(map(str, done.args[1:3]))
        why = " ".join(refusals(self.environment, Outcome(), done.stderr)) or "it said nothing"
        raise StackError(f"`pulumi {words}` failed: {why}{'' if why.endswith('.') else '.'}")

    def _locked(self, words: str) -> "StackLockedError":
        return StackLockedError(
            f"Another command has locked the stack {self.environment}. Where none runs any more, "
            f"`pulumi cancel --stack {self.environment}` opens it.",
            words,
        )


def variables(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment variables, so that the engine finds login and accounts."""
    found = {**os.environ, **tools}
    # against a real account the provider plugins are downloaded when they are first needed
    found.pop("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", None)
    return found


def _copied(arguments: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return the arguments with a copy of the stack file: a preview writes a missing salt there."""
    found = []
    for each in arguments:
        option, _, path = each.partition("=")
        if option == CONFIG_FILE and Path(path).exists():
            each = f"{option}={shutil.copy(path, folder)}"  # noqa: PLW2901  # as it is, or copied
        found.append(each)
    return tuple(found)


def _follow(events: EventLog, progress: Callable[[Outcome], None]) -> None:
    if events.catch_up():
        progress(events.outcome)


def _lock_in(output: str) -> str | None:
    """Return what the engine says of a lock; None where it says nothing of one."""
    return output if any(said in output for said in LOCKED) else None
