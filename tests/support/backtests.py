"""A backtest of nobody, and a repository with data for it."""

from lakefs.repository import DataRepository
from workloads.backtest.provenance import Provenance

PROVENANCE = Provenance(
    experiment="momentum-7",
    team="equities",
    cost_centre="cc-4711",
    code_revision="0123456789abcdef0123456789abcdef01234567",
    image_digest="sha256:" + "ab" * 32,
    seed=-17,
)


def put(repository: DataRepository, branch: str, **objects: bytes) -> str:
    """Commits objects straight to a branch, as somebody else would."""
    for path, content in objects.items():
        repository.upload(branch, path, content)
    return repository.commit(branch, f"Put {', '.join(objects)}", {"by": "somebody"})


def contents(repository: DataRepository, commit_id: str) -> dict[str, bytes]:
    """Everything that a commit holds."""
    return {path: repository.read(commit_id, path) for path in repository.paths(commit_id)}
