"""The deployed stack of an environment, through the engine's command line."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.events import EventLog, Outcome
from settings.names import PROJECT

STACK_TYPE = "pulumi:pulumi:Stack"
LOCKED = "the stack is currently locked"


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

    def resources(self) -> list[Mapping[str, Any]]:
        """Return what the state holds; raises DestroyError where there is no such stack."""
        stack = self.arguments[0]
        exported = json.loads(self._answer("stack", "export", stack))
        found: list[Mapping[str, Any]] = (exported.get("deployment") or {}).get("resources") or []
        return found

    def secret(self, name: str) -> str:
        """Return a secret of the stack's configuration."""
        return self._answer("config", "get", f"{PROJECT}:{name}", *self.arguments).rstrip("\n")

    def unprotect(self, urns: Sequence[str]) -> None:
        """Let the resources be deleted from now on."""
        self._answer("state", "unprotect", *urns, self.arguments[0], "--yes")

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
                )
                while process.poll() is None:
                    if events.catch_up():
                        progress(events.outcome)
                    time.sleep(0.05)
            events.catch_up()
            if process.returncode:
                raise DestroyError(self._why(events.outcome))

    def _why(self, outcome: Outcome) -> str:
        errors = outcome.errors() or (self.log.read_text().strip().splitlines() or ["nothing"])[-1:]
        return "\n".join([*errors, f"The engine's own words are in {self.log}."])

    def _answer(self, *words: str) -> str:
        done = subprocess.run(
            [self.pulumi, *words, "--non-interactive"],
            cwd=self.root,
            env=dict(self.variables),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.strip()
        if LOCKED in said:
            raise DestroyError(
                f"Another command has locked the stack {self.environment}. Where none runs any "
                f"more, `pulumi cancel --stack {self.environment}` opens it."
            )
        why = said.rpartition("\n")[2].removeprefix("error: ") or "it said nothing"
        raise DestroyError(f"`pulumi {words[0]} {words[1]}` failed: {why}.")


def variables(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment variables, so that the engine finds login and accounts."""
    found = {**os.environ, **tools}
    # against a real account the provider plugins are downloaded when they are first needed
    found.pop("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", None)
    return found


def kind_of(resource: Mapping[str, Any]) -> str:
    """Return the last word of a resource's type, such as BareMetalHost."""
    return str(resource["type"]).rpartition(":")[2]


def name_of(resource: Mapping[str, Any]) -> str:
    """Return the name of a resource in the program."""
    return str(resource["urn"]).rpartition("::")[2]


def protected(resources: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the protected resources, by the pool or part of the environment that they are in."""
    by_urn = {each["urn"]: each for each in resources}
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in resources:
        if each.get("protect"):
            part = _outermost(each, by_urn)
            found.setdefault(name_of(part), []).append(each)
    return found


def node_pools(resources: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield Karpenter's NodePools, each with the most seconds that a machine of it drains."""
    for each in resources:
        if kind_of(each) == "NodePool":
            inputs = each["inputs"]
            grace = inputs["spec"]["template"]["spec"]["terminationGracePeriod"]
            yield inputs["metadata"]["name"], int(grace.removesuffix("h")) * 3600


def _outermost(
    resource: Mapping[str, Any], by_urn: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Return the component, right below the stack, in which a resource is."""
    parent = by_urn.get(resource.get("parent", ""))
    while parent is not None and parent["type"] != STACK_TYPE:
        resource, parent = parent, by_urn.get(parent.get("parent", ""))
    return resource
