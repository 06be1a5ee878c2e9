"""Requests whose answer is lost or whose ground moves meanwhile: nothing is done twice or half."""

from collections.abc import Callable

import pytest

from lakefs.errors import LakefsError
from lakefs.fake.model import AnswerError
from lakefs.fake.server import DroppedError, FakeLakefs
from lakefs.repository import DataRepository
from tests.support.backtests import PROVENANCE, contents, put
from tests.support.lakefs_ground import on_fake
from workloads.backtest.branch import BacktestBranch, MergeRefusedError

COMMITS, MERGES, BRANCHES = "/commits$", "/merge/", "/branches$"


@pytest.fixture
def repository(fake: FakeLakefs) -> DataRepository:
    made = on_fake(fake).new_repository()
    put(made, "main", prices=b"1 2 3")
    return made


@pytest.fixture
def branch(repository: DataRepository) -> BacktestBranch:
    opened = BacktestBranch.open(repository, PROVENANCE)
    opened.upload("signals", b"+1")
    return opened


def drop() -> None:
    raise DroppedError


def fail() -> None:
    raise AnswerError(500, "internal error")


@pytest.mark.parametrize("accident", [drop, fail])
def test_a_commit_that_was_made_is_found_and_not_made_again(
    fake: FakeLakefs, branch: BacktestBranch, accident: Callable[[], None]
) -> None:
    before = fake.count("POST", COMMITS)
    fake.once("POST", COMMITS, accident, after=True)
    commit_id = branch.commit("Signals")
    assert commit_id == branch.repository.head(branch.name)
    assert fake.count("POST", COMMITS) == before + 1


@pytest.mark.parametrize("accident", [drop, fail])
def test_a_commit_that_never_arrived_is_an_error_and_can_be_repeated(
    fake: FakeLakefs, branch: BacktestBranch, accident: Callable[[], None]
) -> None:
    fake.once("POST", COMMITS, accident)
    with pytest.raises(LakefsError, match=r"commit on branch 'bt-") as error:
        branch.commit("Signals")
    assert "has no commit with request-id" in error.value.__notes__[0]
    assert branch.repository.head(branch.name) == branch.source_commit
    assert branch.commit("Signals") == branch.repository.head(branch.name)


def test_a_merge_that_was_made_is_found_though_main_moved_on(
    fake: FakeLakefs, branch: BacktestBranch
) -> None:
    branch.commit("Signals")

    def others_merge_too_and_the_line_breaks() -> None:
        put(branch.repository, "main", rates=b"5%")
        raise DroppedError

    fake.once("POST", MERGES, others_merge_too_and_the_line_breaks, after=True)
    merged = branch.merge()
    assert (branch.repository.show(merged).metadata or {})["branch"] == branch.name
    assert branch.repository.head("main") != merged
    assert fake.count("POST", MERGES) == 1


def test_a_merge_that_was_not_made_is_not_repeated_by_itself(
    fake: FakeLakefs, branch: BacktestBranch
) -> None:
    branch.commit("Signals")
    fake.once("POST", MERGES, drop)
    with pytest.raises(LakefsError, match="gave no answer when asked to merge"):
        branch.merge()
    assert fake.count("POST", MERGES) == 1
    assert branch.repository.head("main") == branch.source_commit


def test_a_branch_whose_opening_was_not_answered_is_there(
    fake: FakeLakefs, repository: DataRepository
) -> None:
    fake.once("POST", BRANCHES, drop, after=True)
    opened = BacktestBranch.open(repository, PROVENANCE)
    assert repository.head(opened.name) == opened.source_commit


def test_a_branch_that_was_not_opened_is_an_error(
    fake: FakeLakefs, repository: DataRepository
) -> None:
    fake.once("POST", BRANCHES, drop)
    with pytest.raises(LakefsError, match="'bt-"):
        BacktestBranch.open(repository, PROVENANCE)


def test_a_conflict_that_appears_after_the_look_refuses_the_whole_merge(
    fake: FakeLakefs, branch: BacktestBranch
) -> None:
    branch.upload("prices", b"1 2 4")
    branch.commit("Signals")

    def somebody_writes() -> None:
        put(branch.repository, "main", prices=b"9 9 9")

    fake.once("POST", MERGES, somebody_writes)
    with pytest.raises(MergeRefusedError, match="'main' has changed 'prices' too") as refused:
        branch.merge()
    assert refused.value.status == 409
    assert contents(branch.repository, branch.repository.head("main")) == {"prices": b"9 9 9"}


def test_a_conflict_that_is_known_asks_neither_for_a_merge_nor_for_its_checks(
    fake: FakeLakefs, branch: BacktestBranch
) -> None:
    branch.upload("prices", b"1 2 4")
    branch.commit("Signals")
    put(branch.repository, "main", prices=b"9 9 9")
    with pytest.raises(MergeRefusedError):
        branch.merge()
    assert fake.count("POST", MERGES) == 0


def test_a_branch_that_cannot_be_deleted_after_a_failure_is_a_note_on_it(
    fake: FakeLakefs, repository: DataRepository
) -> None:
    def run() -> None:
        with BacktestBranch.open(repository, PROVENANCE, delete_on_failure=True):
            fake.once("DELETE", "/branches/bt-", fail)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as error:
        run()
    assert "is still there" in error.value.__notes__[0]
