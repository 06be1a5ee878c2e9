"""The deployed stack of an environment, through the engine's command line."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.events import EventLog, Outcome
from engine.interrupts import wait
from fleet.destroy.deployed import Resource
from fleet.preview.refusals import refusals
from settings import how_to_set
from settings.names import PROJECT

LOCKED = "the stack is currently locked"
NO_STACK = "no stack named"
NOT_SET = "not found for stack"


class DestroyError(RuntimeError):
    """The environment is not gone; the text is a sentence with what to do."""


@dataclass(frozen=True, kw_only=True)
class DeployedStack:
    """`arguments` name the stack and its configuration to every command of `pulumi`."""

    root: Path
    environment: str
    pulumi: Path
    variables: Mapping[str, str]
    arguments: tuple[str, ...]

    @property
    def log(self) -> Path:
        """The file with the engine's own words."""
        return self.root / ".preview" / f"destroy-{self.environment}.log"

    def resources(self) -> list[Resource]:
        """Return what the state holds; raises DestroyError where there is no such stack."""
        done = self._asked("stack", "export", self.arguments[0])
        if NO_STACK in done.stderr:
            raise DestroyError(
                f"The backend has no stack {self.environment}, so nothing was deployed to it from "
                "there. Where another backend has it, run `pulumi login ADDRESS` first."
            )
        exported = json.loads(self._told(done))
        found: list[Resource] = (exported.get("deployment") or {}).get("resources") or []
        return found

    def secret(self, name: str) -> str:
        """Return a secret of the stack's configuration; raises DestroyError where it is not set."""
        found = self.secret_if_set(name)
        if found is None:
            raise DestroyError(
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
        """Delete everything but what is protected and what that needs; raises DestroyError."""
        self.log.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fleet-destroy-") as name:
            events = EventLog(Path(name) / "events.jsonl")
            argv = ("destroy", "--yes", "--skip-preview", "--exclude-protected", *self.arguments)
            more = (f"--event-log={events.path}", "--non-interactive", "--color=never")
            with self.log.open("w") as log:
                process = subprocess.Popen(
                    [self.pulumi, *argv, *more],
                    cwd=self.root,
                    env={**self.variables, "PULUMI_DEBUG_COMMANDS": "1"},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches it by `wait` alone, once
                )
                code = wait(process, lambda: _follow(events, progress))
            _follow(events, progress)
            if code:
                raise DestroyError(self._why(events.outcome))

    def _why(self, outcome: Outcome) -> str:
        output = self.log.read_text(encoding="utf-8")
        if LOCKED in output:
            return self._locked()
        told = refusals(self.environment, outcome, output) or ("It said nothing.",)
        return "\n".join([*told, f"The engine's own words are in {self.log}."])

    def _asked(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.pulumi, *words, "--non-interactive", "--color=never"],
            cwd=self.root,
            env=dict(self.variables),
            capture_output=True,
            text=True,
            check=False,
        )

    def _told(self, done: subprocess.CompletedProcess[str]) -> str:
        """Return what a command has printed; raises DestroyError where it failed."""
        if done.returncode == 0:
            return done.stdout
        if LOCKED in done.stderr:
            raise DestroyError(self._locked())
        words = " ".join(map(str, done.args[1:3]))
        why = " ".join(refusals(self.environment, Outcome(), done.stderr)) or "it said nothing"
        raise DestroyError(f"`pulumi {words}` failed: {why}{'' if why.endswith('.') else '.'}")

    def _locked(self) -> str:
        return (
            f"Another command has locked the stack {self.environment}. Where none runs any more, "
            f"`pulumi cancel --stack {self.environment}` opens it."
        )


def variables(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment variables, so that the engine finds login and accounts."""
    found = {**os.environ, **tools}
    # against a real account the provider plugins are downloaded when they are first needed
    found.pop("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", None)
    return found


def _follow(events: EventLog, progress: Callable[[Outcome], None]) -> None:
    if events.catch_up():
        progress(events.outcome)
