"""The state of a fake lakeFS server: repositories with their objects, commits and settings."""

import hashlib
import itertools
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

ACTIONS_FOLDER = "_lakefs_actions/"


class AnswerError(Exception):
    """An answer that is an error: its HTTP status and the message of its body."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """An object: its content and its properties."""

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


Tree = Mapping[str, StoredObject]


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
    staged: dict[str, StoredObject | None] = field(default_factory=dict)
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


@dataclass(kw_only=True)
class Repo:
    """A repository. `lock` is held by every operation that changes it."""

    id: str
    storage_namespace: str
    default_branch: str
    read_only: bool
    creation_date: int
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, Branch] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    protection: tuple[str, ...] = ()
    gc_rules: Mapping[str, object] | None = None
    runs: list[Run] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def branch(self, name: str) -> Branch:
        if name not in self.branches:
            raise AnswerError(404, "branch not found")
        return self.branches[name]

    def resolve(self, ref: str) -> Commit:
        """The commit behind a branch, a tag, a commit id or its unique prefix, `~n` after it."""
        matched = re.fullmatch(r"(?P<base>[^~@]+)@?(?:~(?P<steps>\d*))?", ref)
        if matched is None:
            raise AnswerError(400, f"reference expression {ref!r}: invalid reference")
        base, steps = matched["base"], matched["steps"]
        commit = self._named(base)
        for _ in range(0 if steps is None else int(steps or "1")):
            if not commit.parents:
                raise AnswerError(404, "not found")
            commit = self.commits[commit.parents[0]]
        return commit

    def _named(self, name: str) -> Commit:
        if name in self.branches:
            return self.commits[self.branches[name].head]
        if name in self.tags:
            return self.commits[self.tags[name]]
        found = [
            id_
            for id_ in self.commits
            if re.fullmatch("[0-9a-f]{6,64}", name) and id_.startswith(name)
        ]
        if len(found) != 1:
            raise AnswerError(404, "not found")
        return self.commits[found[0]]

    def view(self, ref: str) -> Tree:
        """The objects that a reader of a ref sees; of a branch also those staged on it."""
        if ref not in self.branches:
            return self.resolve(ref).tree
        branch = self.branches[ref]
        tree: dict[str, StoredObject | None] = {**self.commits[branch.head].tree, **branch.staged}
        return {path: entry for path, entry in sorted(tree.items()) if entry is not None}

    def writable(self, branch: str | None = None, *, force: bool = False) -> None:
        """Refuses a direct write where the repository or a protection rule forbids it."""
        if self.read_only and not force:
            raise AnswerError(403, "read-only repository")
        if branch is not None and any(matches(pattern, branch) for pattern in self.protection):
            raise AnswerError(403, "cannot write to protected branch")

    def add_commit(
        self, tree: Tree, parents: tuple[str, ...], message: str, metadata: Mapping[str, str]
    ) -> Commit:
        commit = self.make_commit(tree, parents, message, metadata)
        self.commits[commit.id] = commit
        return commit

    def make_commit(
        self, tree: Tree, parents: tuple[str, ...], message: str, metadata: Mapping[str, str]
    ) -> Commit:
        """Makes a commit without adding it: the hooks before it already know its id."""
        now = int(time.time())
        content = {path: entry.identity for path, entry in sorted(tree.items())}
        text = json.dumps([content, parents, message, dict(metadata), now, len(self.commits)])
        return Commit(
            id=hashlib.sha256(text.encode()).hexdigest(),
            parents=parents,
            message=message,
            metadata=dict(metadata),
            creation_date=now,
            generation=1 + max((self.commits[parent].generation for parent in parents), default=0),
            committer="admin",
            tree=MappingProxyType(dict(sorted(tree.items()))),
        )

    def ancestors(self, commit: Commit) -> dict[str, Commit]:
        """A commit and everything before it."""
        found: dict[str, Commit] = {}
        waiting = [commit]
        while waiting:
            current = waiting.pop()
            if current.id not in found:
                found[current.id] = current
                waiting.extend(self.commits[parent] for parent in current.parents)
        return found

    def merge_base(self, left: Commit, right: Commit) -> Commit:
        """The nearest common ancestor."""
        shared = self.ancestors(left).keys() & self.ancestors(right).keys()
        return max((self.commits[id_] for id_ in shared), key=lambda c: (c.generation, c.id))


@dataclass(kw_only=True)
class Model:
    """The whole server. A storage namespace stays taken when its repository is deleted."""

    access_key_id: str
    secret_access_key: str
    initialized: bool = True
    repositories: dict[str, Repo] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)
    counter: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def repository(self, name: str) -> Repo:
        if name not in self.repositories:
            raise AnswerError(404, "repository not found")
        return self.repositories[name]

    def create_repository(
        self, name: str, storage_namespace: str, default_branch: str, *, read_only: bool
    ) -> Repo:
        if not re.fullmatch("[a-z0-9][a-z0-9-]{2,62}", name):
            raise AnswerError(400, "repository name: invalid value: validation error")
        if not re.match(r"(s3|gs|https?|mem|local|transient)://", storage_namespace):
            raise AnswerError(400, "storage namespace: invalid value: validation error")
        if name in self.repositories:
            raise AnswerError(409, "error creating repository: not unique")
        namespace = storage_namespace.rstrip("/")
        if namespace in self.namespaces and not read_only:
            found = f"found lakeFS objects in the storage namespace({namespace})"
            raise AnswerError(400, f"failed to create repository: {found}")
        repository = Repo(
            id=name,
            storage_namespace=storage_namespace,
            default_branch=default_branch,
            read_only=read_only,
            creation_date=int(time.time()),
        )
        first = repository.add_commit(EMPTY, (), "Repository created", {})
        repository.branches[default_branch] = Branch(head=first.id)
        self.namespaces.add(namespace)
        self.repositories[name] = repository
        return repository

    def entry(self, content: bytes, repository: Repo, content_type: str) -> StoredObject:
        address = f"{repository.storage_namespace.rstrip('/')}/data/{next(self.counter):08d}"
        return StoredObject(
            content=content,
            physical_address=address,
            mtime=int(time.time()),
            content_type=content_type,
        )
