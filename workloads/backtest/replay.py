"""A commit as a run read or wrote it, by an id that no later change can move."""

import re
from collections.abc import Iterator, Mapping

from lakefs.errors import LakefsError
from lakefs.repository import DataRepository
from workloads.backtest.provenance import Provenance

COMMIT_ID = re.compile("[0-9a-f]{64}")
SOURCE_COMMIT = "source-commit"


class Replay:
    """A read-only view of one commit. Nothing here can write, and the view never changes."""

    def __init__(self, repository: DataRepository, commit_id: str) -> None:
        if not COMMIT_ID.fullmatch(commit_id):
            raise LakefsError(
                f"{commit_id!r} cannot be replayed: it must be a whole commit id of 64 digits, "
                "because branches and tags move."
            )
        self._repository = repository
        self._commit = repository.show(commit_id)

    @property
    def commit_id(self) -> str:
        return self._commit.id

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the commit."""
        return dict(self._commit.metadata or {})

    @property
    def provenance(self) -> Provenance:
        """The provenance of the commit; ProvenanceError where no backtest made it."""
        return Provenance.of(self.metadata)

    def inputs(self) -> "Replay":
        """Returns the view of the commit that the run started from."""
        source = self.metadata.get(SOURCE_COMMIT)
        if source is None:
            raise LakefsError(
                f"Commit {self.commit_id[:12]} of repository {self._repository.name!r} does not "
                "say which data it started from: it was not made by a backtest."
            )
        return Replay(self._repository, source)

    def read(self, path: str) -> bytes:
        """Returns the content of an object."""
        return self._repository.read(self.commit_id, path)

    def paths(self, prefix: str = "") -> Iterator[str]:
        """Yields the paths below a prefix, in the order of their names."""
        return self._repository.paths(self.commit_id, prefix)

    def s3a(self, path: str = "") -> str:
        """Returns the address for Spark and Delta readers behind the S3 gateway of lakeFS."""
        return f"s3a://{self._repository.name}/{self.commit_id}/{path}"
