"""What the tests take for granted of lakeFS's merges, on the fake and on a real server."""

import pytest
from lakefs_sdk.models.merge import Merge

from lakefs.repository import DataRepository, ObjectChange
from tests.support.backtests import contents, put
from tests.support.lakefs_calls import ask, diverged, refused

# what a file is in the base, the source and the destination of a merge, and what it is after it;
# from the page "Merges in lakeFS" of its documentation
MERGE_TABLE = [
    ("A", "A", "A", "A"),
    ("A", "B", "B", "B"),
    ("A", "B", "C", "conflict"),
    ("A", "A", "B", "B"),
    ("A", "B", "A", "B"),
    ("A", None, None, None),
    ("A", "B", None, "conflict"),
    ("A", None, "B", "conflict"),
    ("A", "A", None, None),
    ("A", None, "A", None),
]


@pytest.mark.parametrize(("base", "source", "ours", "result"), MERGE_TABLE)
def test_a_merge_follows_the_table_of_the_documentation(
    repository: DataRepository, base: str, source: str | None, ours: str | None, result: str | None
) -> None:
    diverged(repository, base, source, ours)
    merge = repository.lakefs.api.refs_api.merge_into_branch
    if result == "conflict":
        before = repository.head("main")
        assert refused(repository, merge, "side", "main") == 409
        assert repository.head("main") == before
    else:
        after = contents(repository, ask(repository, merge, "side", "main").reference)
        assert after.get("f") == (None if result is None else result.encode())
        assert {"of-side", "of-main"} <= after.keys()


@pytest.mark.parametrize(("strategy", "kept"), [("source-wins", b"B"), ("dest-wins", b"C")])
def test_a_strategy_settles_a_conflict(
    repository: DataRepository, strategy: str, kept: bytes
) -> None:
    diverged(repository, "A", "B", "C")
    merge = repository.lakefs.api.refs_api.merge_into_branch
    body = Merge.parse_obj({"strategy": strategy})
    after = ask(repository, merge, "side", "main", merge=body).reference
    assert contents(repository, after)["f"] == kept


def test_a_merge_has_two_parents_and_a_squashed_one_has_one(repository: DataRepository) -> None:
    diverged(repository, "A", "B", "A")
    ours, theirs = repository.head("main"), repository.head("side")
    merge = repository.lakefs.api.refs_api.merge_into_branch
    made = repository.show(ask(repository, merge, "side", "main").reference)
    assert made.parents == [ours, theirs]
    put(repository, "side", more=b"x")
    body = Merge.parse_obj({"squash_merge": True})
    squashed = ask(repository, merge, "side", "main", merge=body).reference
    assert repository.show(squashed).parents == [made.id]


def test_a_conflict_shows_in_the_diff_before_the_merge(repository: DataRepository) -> None:
    diverged(repository, "A", "B", "C")
    assert ObjectChange(path="f", kind="conflict") in list(repository.changes("main", "side"))


def test_merging_into_uncommitted_changes_is_refused(repository: DataRepository) -> None:
    diverged(repository, "A", "B", "A")
    repository.upload("main", "late", b"x")
    assert (
        refused(repository, repository.lakefs.api.refs_api.merge_into_branch, "side", "main") == 400
    )
