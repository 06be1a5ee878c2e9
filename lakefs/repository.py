"""A lakeFS repository: its branches, objects and commits; a change is made once or not at all."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakefs.client import LakefsClient
from lakefs.errors import LakefsError, if_there

REQUEST = "request-id"
"""The field of a commit's metadata by which it is found again when its answer was lost."""

HOOK_SECONDS = 600
"""A commit or a merge waits for the checks before it, and each of them may take a minute."""


@dataclass(frozen=True, kw_only=True)
class ObjectChange:
    """An object that differs between two refs.

    `kind` is added, removed, changed, or conflict where both sides have changed it.
    """

    path: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class CommitRecord:
    """A commit with its id of 64 digits; the first of its parents is the branch's own."""

    id: str
    parents: Sequence[str]
    message: str
    metadata: Mapping[str, str]


@dataclass(frozen=True)
class DataRepository:
    """A repository on a server, as workloads read and write it."""

    lakefs: LakefsClient
    name: str

    def head(self, branch: str) -> str:
        """Returns the id of the newest commit of a branch."""
        found = self.lakefs.ask(
            f"show branch {branch!r} {self._here}",
            self.lakefs.api.branches_api.get_branch,
            self.name,
            branch,
        )
        return found.commit_id

    def show(self, commit_id: str) -> CommitRecord:
        found = self.lakefs.ask(
            f"show commit {commit_id[:12]} {self._here}",
            self.lakefs.api.commits_api.get_commit,
            self.name,
            commit_id,
        )
        return CommitRecord(
            id=found.id,
            parents=found.parents,
            message=found.message,
            metadata=found.metadata or {},
        )

    def open_branch(self, name: str, start: str) -> None:
        """Opens a branch at a commit.

        Where the answer is lost and the branch is there at that commit, it counts as opened.
        """
        try:
            self.lakefs.ask(
                f"open branch {name!r} at {start[:12]!r} {self._here}",
                self.lakefs.api.branches_api.create_branch,
                self.name,
                {"name": name, "source": start},
            )
        except LakefsError as error:
            if not error.outcome_is_unknown or self.head(name) != start:
                raise

    def delete_branch(self, name: str) -> None:
        """Deletes a branch, if it is there."""
        with if_there():
            self.lakefs.ask(
                f"delete branch {name!r} {self._here}",
                self.lakefs.api.branches_api.delete_branch,
                self.name,
                name,
            )

    def upload(self, branch: str, path: str, content: bytes) -> None:
        """Stages an object on a branch."""
        if not content:
            raise LakefsError(
                f"{path!r} is empty, and lakefs-sdk cannot upload an empty object: leave it out."
            )
        self.lakefs.ask(
            f"upload {path!r} to branch {branch!r} {self._here}",
            self.lakefs.api.objects_api.upload_object,
            self.name,
            branch,
            path,
            content=content,
        )

    def remove(self, branch: str, path: str) -> None:
        """Stages the deletion of an object on a branch."""
        self.lakefs.ask(
            f"delete {path!r} from branch {branch!r} {self._here}",
            self.lakefs.api.objects_api.delete_object,
            self.name,
            branch,
            path,
        )

    def read(self, commit_id: str, path: str) -> bytes:
        content = self.lakefs.ask(
            f"read {path!r} at commit {commit_id[:12]} {self._here}",
            self.lakefs.api.objects_api.get_object,
            self.name,
            commit_id,
            path,
        )
        return bytes(content)

    def paths(self, commit_id: str, prefix: str = "") -> Iterator[str]:
        """Yields the paths below a prefix, in the order of their names."""
        found = self.lakefs.everything(
            f"list commit {commit_id[:12]} {self._here}",
            self.lakefs.api.objects_api.list_objects,
            self.name,
            commit_id,
            prefix=prefix,
        )
        return (entry.path for entry in found)

    def commit(self, branch: str, message: str, metadata: Mapping[str, str]) -> str:
        """Commits what is staged on a branch and returns the id of the commit."""

        def send(body: dict[str, object]) -> str:
            made = self.lakefs.ask(
                f"commit on branch {branch!r} {self._here}",
                self.lakefs.api.commits_api.commit,
                self.name,
                branch,
                body,
                read_seconds=HOOK_SECONDS,
            )
            return made.id

        return self._once(branch, message, metadata, send)

    def merge(
        self,
        source: str,
        destination: str,
        message: str,
        metadata: Mapping[str, str],
        *,
        allow_empty: bool = False,
    ) -> str:
        """Merges a ref into a branch, whole or not at all, and returns the id of the commit.

        lakeFS refuses a merge that would change nothing, unless `allow_empty`.
        """

        def send(body: dict[str, object]) -> str:
            merged = self.lakefs.ask(
                f"merge {source!r} into branch {destination!r} {self._here}",
                self.lakefs.api.refs_api.merge_into_branch,
                self.name,
                source,
                destination,
                merge={**body, "allow_empty": allow_empty},
                read_seconds=HOOK_SECONDS,
            )
            return merged.reference

        return self._once(destination, message, metadata, send)

    def uncommitted(self, branch: str) -> Iterator[ObjectChange]:
        """Yields the changes that are staged on a branch."""
        found = self.lakefs.everything(
            f"list what is uncommitted on branch {branch!r} {self._here}",
            self.lakefs.api.branches_api.diff_branch,
            self.name,
            branch,
        )
        return (ObjectChange(path=entry.path, kind=entry.type) for entry in found)

    def changes(
        self, left: str, right: str, *, prefix: str = "", since_base: bool = True
    ) -> Iterator[ObjectChange]:
        """Yields the changes of `right` since it left `left`, or how the two differ now."""
        found = self.lakefs.everything(
            f"compare {left!r} with {right!r} {self._here}",
            self.lakefs.api.refs_api.diff_refs,
            self.name,
            left,
            right,
            prefix=prefix,
            type="three_dot" if since_base else "two_dot",
        )
        return (ObjectChange(path=entry.path, kind=entry.type) for entry in found)

    @property
    def _here(self) -> str:
        return f"in repository {self.name!r}"

    def _once(
        self,
        branch: str,
        message: str,
        metadata: Mapping[str, str],
        send: Callable[[dict[str, object]], str],
    ) -> str:
        """Sends a change once; where the answer is lost, looks for the commit in the log."""
        request = uuid.uuid4().hex
        before = self.head(branch)
        try:
            return send({"message": message, "metadata": {**metadata, REQUEST: request}})
        except LakefsError as error:
            if not error.outcome_is_unknown:
                raise
            done = self._find(branch, before, request)
            if done is None:
                error.add_note(f"The log of {branch!r} has no commit with {REQUEST} {request} yet.")
                raise
            return done

    def _find(self, branch: str, before: str, request: str) -> str | None:
        """Finds the commit of a request among those made on a branch after `before`."""
        log = self.lakefs.everything(
            f"list the commits of branch {branch!r} {self._here}",
            self.lakefs.api.refs_api.log_commits,
            self.name,
            branch,
            first_parent=True,
        )
        for commit in log:
            if (commit.metadata or {}).get(REQUEST) == request:
                return str(commit.id)
            if commit.id == before:
                return None
        return None
