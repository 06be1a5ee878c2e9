"""What a repository of a lakeFS server is made of: objects, commits, branches, runs of actions."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


class ApiError(Exception):
    """An answer that is an error: its HTTP status and the message of its body."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An object: its content and what a stat of it says."""

    content: bytes
    physical_address: str
    mtime: int
    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def checksum(self) -> str:
        return hashlib.md5(self.content, usedforsecurity=False).hexdigest()

    @property
    def identity(self) -> tuple[str, str]:
        """Two entries of the same identity are the same object to a diff and to a merge."""
        return self.checksum, json.dumps(dict(self.metadata), sort_keys=True)


Tree = Mapping[str, Entry]


EMPTY: Tree = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit and the whole tree of its objects."""

    id: str
    parents: tuple[str, ...]
    message: str
    metadata: Mapping[str, str]
    creation_date: int
    generation: int
    committer: str
    tree: Tree


@dataclass(kw_only=True)
class Branch:
    """A branch: its head and what is staged on it; None stands for a staged deletion."""

    head: str
    staged: dict[str, Entry | None] = field(default_factory=dict)
    hidden: bool = False


@dataclass(kw_only=True)
class HookRun:
    """One hook of a run."""

    hook_run_id: str
    action: str
    hook_id: str
    status: str
    output: str
    time: float


@dataclass(kw_only=True)
class Run:
    """The actions that one event has started."""

    run_id: str
    branch: str
    event_type: str
    commit_id: str
    time: float
    hooks: list[HookRun] = field(default_factory=list)

    @property
    def status(self) -> str:
        return "failed" if any(hook.status == "failed" for hook in self.hooks) else "completed"


def matches(pattern: str, name: str) -> bool:
    """A glob with `*` and `?` alone, as branch protection and actions have it."""
    parts = ("." if part == "?" else ".*" if part == "*" else re.escape(part) for part in pattern)
    return re.fullmatch("".join(parts), name) is not None
