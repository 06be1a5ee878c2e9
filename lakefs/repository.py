"""A lakeFS repository: branches, objects and history, each change sent once or not at all."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lakefs_sdk.models.branch_creation import BranchCreation
from lakefs_sdk.models.commit import Commit
from lakefs_sdk.models.commit_creation import CommitCreation
from lakefs_sdk.models.diff import Diff
from lakefs_sdk.models.merge import Merge

from lakefs.client import Lakefs
from lakefs.errors import LakefsError, if_there

REQUEST = "request-id"
"""The field of a commit's metadata by which it is found again when its answer was lost."""

HOOK_SECONDS = 600
"""A commit or a merge waits for the checks before it, and each of them may take a minute."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """An object that differs. `kind`: added, removed, changed, or conflict where both sides did."""

    path: str
    kind: str


@dataclass(frozen=True)
class DataRepository:
    """A repository on a server."""

    lakefs: Lakefs
    name: str

    def head(self, branch: str) -> str:
        """The id of the commit that a branch is at."""
        found = self.lakefs.ask(
            f"show branch {branch!r} {self._here}",
            self.lakefs.api.branches_api.get_branch,
            self.name,
            branch,
        )
        return found.commit_id

    def show(self, commit_id: str) -> Commit:
        return self.lakefs.ask(
            f"show commit {commit_id[:12]} {self._here}",
            self.lakefs.api.commits_api.get_commit,
            self.name,
            commit_id,
        )

    def open_branch(self, name: str, start: str) -> None:
        """Opens a branch at a commit. One that is there after a lost answer is this one."""
        try:
            self.lakefs.ask(
                f"open branch {name!r} at {start[:12]!r} {self._here}",
                self.lakefs.api.branches_api.create_branch,
                self.name,
                BranchCreation.parse_obj({"name": name, "source": start}),
            )
        except LakefsError as error:
            if not error.outcome_is_unknown or self.head(name) != start:
                raise

    def delete_branch(self, name: str) -> None:
        """Deletes a branch; that it is gone already is as good."""
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
        """Stages the absence of an object on a branch."""
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
        """The objects below a prefix, in the order of their names."""
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
                CommitCreation.parse_obj(body),
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
                merge=Merge.parse_obj({**body, "allow_empty": allow_empty}),
                read_seconds=HOOK_SECONDS,
            )
            return merged.reference

        return self._once(destination, message, metadata, send)

    def uncommitted(self, branch: str) -> Iterator[Change]:
        """What is staged on a branch."""
        found = self.lakefs.everything(
            f"list what is uncommitted on branch {branch!r} {self._here}",
            self.lakefs.api.branches_api.diff_branch,
            self.name,
            branch,
        )
        return map(_change, found)

    def changes(
        self, left: str, right: str, *, prefix: str = "", since_base: bool = True
    ) -> Iterator[Change]:
        """What `right` has changed since it left `left`, or else how the two differ now."""
        found = self.lakefs.everything(
            f"compare {left!r} with {right!r} {self._here}",
            self.lakefs.api.refs_api.diff_refs,
            self.name,
            left,
            right,
            prefix=prefix,
            type="three_dot" if since_base else "two_dot",
        )
        return map(_change, found)

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
        """Sends a change; where the answer is lost, the log says whether it was carried out."""
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
        """The commit of a request, among those made on a branch since it was at `before`."""
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


def _change(entry: Diff) -> Change:
    return Change(path=entry.path, kind=entry.type)
