"""A branch of the data for one backtest: `bt-<date>-<id>`.

    with BacktestBranch.open(repository, provenance, delete_on_failure=True) as branch:
        branch.upload("signals/2026-11.parquet", data)
        branch.commit("Signals of November")
        commit_id = branch.merge()

A Delta table must have one writer: two branches that both write it conflict in its log, and the
second merge is refused.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from lakefs.action_files import FOLDER
from lakefs.errors import LakefsError
from lakefs.repository import REQUEST, DataRepository, ObjectChange
from workloads.backtest.provenance import Provenance
from workloads.backtest.replay import COMMIT_ID, SOURCE_COMMIT, Replay

NAME = re.compile(r"bt-[0-9]{8}-[0-9a-f]{8}")


class MergeRefusedError(LakefsError):
    """The branch is not clean, so nothing of it was merged."""


@dataclass(frozen=True, kw_only=True)
class BacktestBranch:
    """A branch, its source and the provenance of its commits. Use `open` or `resume`."""

    repository: DataRepository
    name: str
    source: str
    source_commit: str
    provenance: Provenance
    delete_on_failure: bool = False

    @classmethod
    def open(
        cls,
        repository: DataRepository,
        provenance: Provenance,
        *,
        source: str = "main",
        commit_id: str | None = None,
        delete_on_failure: bool = False,
    ) -> Self:
        """Opens a new branch at the head of `source`, or at one of its earlier commits."""
        if commit_id is not None and not COMMIT_ID.fullmatch(commit_id):
            raise LakefsError(f"{commit_id!r} is not a whole commit id of 64 digits.")
        start = repository.head(source) if commit_id is None else commit_id
        name = f"bt-{datetime.now(tz=UTC):%Y%m%d}-{secrets.token_hex(4)}"
        repository.open_branch(name, start)
        return cls(
            repository=repository,
            name=name,
            source=source,
            source_commit=start,
            provenance=provenance,
            delete_on_failure=delete_on_failure,
        )

    @classmethod
    def resume(cls, repository: DataRepository, name: str, *, source: str = "main") -> Self:
        """Takes up a branch that has a commit of its own, for instance in another process."""
        if not NAME.fullmatch(name):
            raise LakefsError(
                f"{name!r} is not the branch of a backtest; bt-20261121-0a1b2c3d would be one."
            )
        head = Replay(repository, repository.head(name))
        return cls(
            repository=repository,
            name=name,
            source=source,
            source_commit=head.inputs().commit_id,
            provenance=head.provenance,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None or not self.delete_on_failure:
            return
        try:
            self.delete()
        except LakefsError as second:
            error.add_note(f"Branch {self.name!r} is still there: {second}")

    def upload(self, path: str, content: bytes) -> None:
        """Stages an object; `commit` makes it a result."""
        self.repository.upload(self.name, path, content)

    def commit(self, message: str, metadata: Mapping[str, str] | None = None) -> str:
        """Commits what is staged with its provenance, and returns the id to replay it by."""
        return self.repository.commit(self.name, message, self._metadata(metadata or {}))

    def diff(self) -> Iterator[ObjectChange]:
        """Yields the changes since the branch left its source; conflicts are marked."""
        return self.repository.changes(self.source, self.name)

    def merge(self, message: str | None = None) -> str:
        """Merges into the source if the branch is clean, whole or not at all; returns the commit.

        Clean means: nothing uncommitted, no conflict, the same checks as the source, and every
        check before the merge passed. The source may move on meanwhile; only a conflict refuses.
        """
        self._refuse_unless_clean()
        try:
            return self.repository.merge(
                self.name,
                self.source,
                message or f"Merge {self.name}",
                self._metadata({"branch": self.name}),
            )
        except LakefsError as error:
            raise self._explained(error) from error

    def catch_up(self) -> Self:
        """Merges the source into the branch and returns it with the data and checks of now."""
        head = self.repository.head(self.source)
        if head == self.source_commit:
            return self
        caught_up = replace(self, source_commit=head)
        message = f"Catch up with {self.source}"
        # also where the branch has it all, as after its own merge: `resume` reads this commit
        metadata = caught_up._metadata({})
        self.repository.merge(head, self.name, message, metadata, allow_empty=True)
        return caught_up

    def delete(self) -> None:
        """Deletes the branch. Its merged commits stay and keep their ids."""
        self.repository.delete_branch(self.name)

    def _metadata(self, extra: Mapping[str, str]) -> dict[str, str]:
        ours = {**self.provenance.metadata(), SOURCE_COMMIT: self.source_commit}
        taken = sorted((ours.keys() | {REQUEST}) & extra.keys())
        if taken:
            raise LakefsError(
                f"The metadata {', '.join(taken)} of a backtest records itself: leave it out."
            )
        return {**extra, **ours}

    def _conflicts(self) -> list[str]:
        return [change.path for change in self.diff() if change.kind == "conflict"]

    def _refuse_unless_clean(self) -> None:
        uncommitted = [change.path for change in self.repository.uncommitted(self.name)]
        if uncommitted:
            raise self._refusal(f"{_some(uncommitted)} is not committed")
        if conflicts := self._conflicts():
            raise self._refusal(self._says_conflict(conflicts))
        checks = self.repository.changes(self.source, self.name, prefix=FOLDER, since_base=False)
        if differing := [change.path for change in checks]:
            raise self._refusal(
                f"its checks differ from those of {self.source!r} ({_some(differing)}), and lakeFS "
                f"would run its own; call catch_up(), or leave {FOLDER} alone"
            )

    def _explained(self, error: LakefsError) -> LakefsError:
        """Turns the refusal of a merge into a sentence about the backtest."""
        if error.status == 409:
            said = self._says_conflict(self._conflicts() or ["the same objects"])
            return self._refusal(said, status=409)
        if error.status == 412:
            return self._refusal(f"a check before the merge did not pass. {error}", status=412)
        return error

    def _says_conflict(self, paths: list[str]) -> str:
        return (
            f"{self.source!r} has changed {_some(paths)} too since commit "
            f"{self.source_commit[:12]}; open a new branch and run again"
        )

    def _refusal(self, reason: str, *, status: int | None = None) -> MergeRefusedError:
        sentence = f"Branch {self.name!r} is not merged: {reason.rstrip('.')}."
        return MergeRefusedError(sentence, status=status)


def _some(paths: list[str]) -> str:
    shown = ", ".join(repr(path) for path in paths[:3])
    return f"{shown} and {len(paths) - 3} more" if len(paths) > 3 else shown
