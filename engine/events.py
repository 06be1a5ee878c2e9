"""Reads the engine's event log: resources by type and step, policy violations, errors."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COLOUR = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")
STACK = "pulumi:pulumi:Stack"
PROVIDER_GONE = "error reading from server: EOF"
CRASH = "Fatal Python error: "
CRASH_LINES = 12
GONE = ("delete", "create-replacement", "delete-replaced")
"""Steps that add no resource to the count; a replacement is told by a third one, `replace`."""
NOISE = (
    "preview failed",
    "update failed",
    "resource registration was canceled",
    "an unhandled error occurred: program exited",
)
"""What the engine says last, after the reason."""


@dataclass(frozen=True, kw_only=True)
class Violation:
    """A rule that a resource, or the stack, breaks."""

    pack: str
    policy: str
    level: str  # advisory, mandatory, remediate
    urn: str  # the stack's for a rule about all resources
    message: str

    @property
    def resource(self) -> str:
        """The resource's name."""
        return name_of(self.urn)


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """A message of the program, a provider or the engine."""

    severity: str  # info, info#err (standard error), warning, error
    resource: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """A step that did not leave its resource the same."""

    op: str  # create, update, replace, delete, …
    type: str
    name: str
    keys: tuple[str, ...] = ()  # the fields for which it was replaced


@dataclass(kw_only=True)
class Outcome:
    """The result of one `preview` or `up`; it is complete when the engine has ended."""

    started: int = 0  # resources on which the engine has begun to work
    finished: int = 0
    steps: Counter[str] = field(default_factory=Counter)  # create, same, update, …
    changes: list[Change] = field(default_factory=list)
    types: Counter[str] = field(default_factory=Counter)  # resources by type
    violations: list[Violation] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)  # names of the resources that failed
    exports: dict[str, Any] = field(default_factory=dict)  # the stack's outputs, secrets masked

    def errors(self) -> tuple[str, ...]:
        """Return each error once, in order, as "resource: message"."""
        broken = [d for d in self.diagnostics if d.severity == "error"]
        telling = [d for d in broken if not d.message.startswith(NOISE)]
        said = dict.fromkeys(_sentence(d) for d in telling or broken)
        if any(PROVIDER_GONE in sentence for sentence in said):
            said |= dict.fromkeys(self._crash())
        return tuple(said)

    def _crash(self) -> list[str]:
        """What a provider wrote as it crashed, where it is a Python program that tells."""
        lines = [
            line
            for diagnostic in self.diagnostics
            if diagnostic.severity == "info#err"
            for line in diagnostic.message.splitlines()
        ]
        first = next((at for at, line in enumerate(lines) if line.startswith(CRASH)), len(lines))
        return lines[first : first + CRASH_LINES]

    def warnings(self) -> tuple[str, ...]:
        """Return each warning once, in order, as "resource: message"."""
        found = [d for d in self.diagnostics if d.severity == "warning"]
        return tuple(dict.fromkeys(_sentence(d) for d in found))

    def take(self, event: dict[str, Any]) -> None:
        """Add one event of the log."""
        if before := event.get("resourcePreEvent"):
            if _counts(before["metadata"]):
                self.started += 1
        elif after := event.get("resOutputsEvent"):
            self._finish(after["metadata"])
        elif failure := event.get("resOpFailedEvent"):
            self.failed.append(name_of(failure["metadata"]["urn"]))
        elif policy := event.get("policyEvent"):
            self._violate(policy)
        elif diagnostic := event.get("diagnosticEvent"):
            self._diagnose(diagnostic)
        elif error := event.get("errorEvent"):
            self._diagnose({"severity": "error", "message": error["error"]})

    def _finish(self, metadata: dict[str, Any]) -> None:
        if metadata["type"] == STACK:
            self.exports = (metadata.get("new") or {}).get("outputs") or {}
        if _counts(metadata):
            self.finished += 1
            self.steps[metadata["op"]] += 1
            if metadata["op"] != "same":
                kind, name = metadata["type"], name_of(metadata["urn"])
                keys = tuple(metadata.get("keys") or ())
                self.changes.append(Change(op=metadata["op"], type=kind, name=name, keys=keys))
            if metadata["op"] not in GONE:
                self.types[metadata["type"]] += 1

    def _violate(self, event: dict[str, Any]) -> None:
        self.violations.append(
            Violation(
                pack=event.get("policyPackName", ""),
                policy=event["policyName"],
                level=event["enforcementLevel"],
                urn=event.get("resourceUrn", ""),
                message=_plain(event["message"]),
            )
        )

    def _diagnose(self, event: dict[str, Any]) -> None:
        message = _plain(event["message"])
        passing = event.get("ephemeral") or event["severity"] == "debug"
        if message and not passing:
            self.diagnostics.append(
                Diagnostic(
                    severity=event["severity"],
                    resource=name_of(event.get("urn", "")),
                    message=message,
                )
            )


class EventLog:
    """Reads an event log while the engine writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcome = Outcome()
        self._read = 0

    def catch_up(self) -> bool:
        """Read the events written since the last call; return False when there were none."""
        if not self.path.exists():
            return False
        with self.path.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]  # the engine may not have finished the last line
        self._read += len(whole)
        for line in whole.splitlines():
            self.outcome.take(json.loads(line))
        return bool(whole)


def name_of(urn: str) -> str:
    """Return the resource's name in its URN; an empty URN has an empty name."""
    return urn.rpartition("::")[2]


def _counts(metadata: dict[str, Any]) -> bool:
    """Return whether users count it as a resource: it is neither the stack nor a provider."""
    kind = metadata["type"]
    return kind != STACK and not kind.startswith("pulumi:providers:")


def _plain(message: str) -> str:
    return COLOUR.sub("", message).strip()


def _sentence(diagnostic: Diagnostic) -> str:
    """Return a diagnostic on one line; of a traceback only the exception."""
    lines = [line.strip() for line in diagnostic.message.splitlines() if line.strip()]
    if any(line.startswith("Traceback (most recent call last)") for line in lines):
        lines = lines[-1:]
    text = " ".join(lines)
    return f"{diagnostic.resource}: {text}" if diagnostic.resource else text
