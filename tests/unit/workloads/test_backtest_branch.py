"""A backtest's branch, on the fake and on a real server."""

import re

import pytest

from lakefs.errors import LakefsError
from lakefs.repository import DataRepository, ObjectChange
from tests.support.backtests import PROVENANCE, contents, put
from tests.support.lakefs_ground import Ground
from workloads.backtest.branch import BacktestBranch, MergeRefusedError
from workloads.backtest.replay import Replay

AT_TAGS_ONLY = b"""
name: at tags only
on: {post-create-tag: }
hooks:
  - {id: nothing, type: lua, properties: {script: "return"}}
"""


@pytest.fixture
def repository(ground: Ground) -> DataRepository:
    made = ground.new_repository()
    put(made, "main", prices=b"1 2 3", universe=b"ABC")
    return made


def test_a_branch_is_named_after_its_day_and_starts_at_the_head_of_main(
    repository: DataRepository,
) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    assert re.fullmatch(r"bt-20\d{6}-[0-9a-f]{8}", branch.name)
    assert branch.source_commit == repository.head("main") == repository.head(branch.name)


def test_a_branch_can_start_at_an_earlier_commit(repository: DataRepository) -> None:
    earlier = repository.head("main")
    put(repository, "main", prices=b"4 5 6")
    branch = BacktestBranch.open(repository, PROVENANCE, commit_id=earlier)
    assert contents(repository, repository.head(branch.name))["prices"] == b"1 2 3"


@pytest.mark.parametrize("moving", ["main", "0123abc", ""])
def test_a_branch_does_not_start_at_what_may_move(repository: DataRepository, moving: str) -> None:
    with pytest.raises(LakefsError, match="not a whole commit id"):
        BacktestBranch.open(repository, PROVENANCE, commit_id=moving)


def test_a_commit_carries_its_whole_provenance_as_text(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    commit = repository.show(branch.commit("Signals", {"sharpe": "1.3"}))
    expected = {
        "experiment": "momentum-7",
        "team": "equities",
        "cost-centre": "cc-4711",
        "code-revision": "0123456789abcdef0123456789abcdef01234567",
        "image-digest": "sha256:" + "ab" * 32,
        "seed": "-17",
        "source-commit": branch.source_commit,
        "sharpe": "1.3",
    }
    assert commit.message == "Signals"
    assert expected.items() <= (commit.metadata or {}).items()


def test_metadata_cannot_overwrite_what_the_branch_records(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    with pytest.raises(LakefsError, match="seed, source-commit"):
        branch.commit("Signals", {"seed": "1", "source-commit": "0" * 64})


def test_a_diff_shows_what_the_branch_did_and_not_what_main_did(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.upload("prices", b"1 2 4")
    repository.remove(branch.name, "universe")
    branch.commit("Signals")
    put(repository, "main", rates=b"5%")
    assert list(branch.diff()) == [
        ObjectChange(path="prices", kind="changed"),
        ObjectChange(path="signals", kind="added"),
        ObjectChange(path="universe", kind="removed"),
    ]


def test_a_clean_branch_is_merged_with_its_provenance(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.commit("Signals")
    merged = branch.merge()
    assert merged == repository.head("main")
    assert contents(repository, merged)["signals"] == b"+1"
    commit = repository.show(merged)
    assert commit.message == f"Merge {branch.name}"
    assert (commit.metadata or {})["branch"] == branch.name
    assert Replay(repository, merged).provenance == PROVENANCE


def test_main_may_move_on_as_long_as_nothing_conflicts(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.commit("Signals")
    put(repository, "main", rates=b"5%")
    assert contents(repository, branch.merge()) == {
        "prices": b"1 2 3",
        "rates": b"5%",
        "signals": b"+1",
        "universe": b"ABC",
    }


def test_a_conflict_refuses_the_whole_merge_and_names_the_objects(
    repository: DataRepository,
) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("prices", b"1 2 4")
    branch.upload("signals", b"+1")
    branch.commit("Signals")
    theirs = put(repository, "main", prices=b"9 9 9")
    with pytest.raises(MergeRefusedError, match="'main' has changed 'prices' too since commit"):
        branch.merge()
    assert repository.head("main") == theirs, "nothing of the branch is in main"


def test_what_is_not_committed_refuses_the_merge(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.commit("Signals")
    branch.upload("late", b"0")
    before = repository.head("main")
    with pytest.raises(MergeRefusedError, match="'late' is not committed"):
        branch.merge()
    assert repository.head("main") == before


def test_a_branch_without_changes_has_nothing_to_merge(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    with pytest.raises(LakefsError, match="no changes"):
        branch.merge()


def test_a_branch_that_changes_its_checks_is_not_merged(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.upload("_lakefs_actions/extra.yaml", AT_TAGS_ONLY)
    branch.commit("Signals")
    before = repository.head("main")
    with pytest.raises(MergeRefusedError, match="its checks differ from those of 'main'"):
        branch.merge()
    assert repository.head("main") == before


def test_a_branch_that_is_older_than_a_check_catches_up_first(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.commit("Signals")
    check = "_lakefs_actions/later.yaml"
    repository.upload("main", check, AT_TAGS_ONLY)
    head = repository.commit("main", "A check", {})
    with pytest.raises(MergeRefusedError, match="catch_up"):
        branch.merge()
    caught_up = branch.catch_up()
    assert caught_up.source_commit == head, "the run's inputs are those of now"
    assert {"signals", check} <= contents(repository, caught_up.merge()).keys()


def test_catching_up_with_a_main_that_stood_still_does_nothing(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    assert branch.catch_up() == branch
    assert repository.head(branch.name) == branch.source_commit


def test_a_branch_goes_on_after_its_own_merge(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.commit("Signals")
    merged = branch.merge()
    caught_up = branch.catch_up()
    assert caught_up.source_commit == merged
    assert BacktestBranch.resume(repository, branch.name).source_commit == merged


def test_a_failed_run_leaves_no_branch_when_asked(repository: DataRepository) -> None:
    name = fail_in_a_branch(repository, delete_on_failure=True)
    with pytest.raises(LakefsError, match="404"):
        repository.head(name)


def test_a_failed_run_leaves_its_branch_to_look_at_by_default(repository: DataRepository) -> None:
    assert repository.head(fail_in_a_branch(repository, delete_on_failure=False))


def test_a_run_that_ends_well_keeps_its_branch(repository: DataRepository) -> None:
    with BacktestBranch.open(repository, PROVENANCE, delete_on_failure=True) as branch:
        pass
    assert repository.head(branch.name)


def test_deleting_a_branch_twice_is_no_error(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.delete()
    branch.delete()
    with pytest.raises(LakefsError, match="404"):
        repository.head(branch.name)


def test_another_process_takes_a_branch_up_where_it_was(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals", b"+1")
    branch.commit("Signals")
    assert BacktestBranch.resume(repository, branch.name) == branch


@pytest.mark.parametrize("name", ["main", "bt-1-2", "bt-20261121-0A1B2C3D"])
def test_only_the_branch_of_a_backtest_is_taken_up(repository: DataRepository, name: str) -> None:
    with pytest.raises(LakefsError, match="is not the branch of a backtest"):
        BacktestBranch.resume(repository, name)


def test_an_empty_object_is_refused_before_it_is_lost(repository: DataRepository) -> None:
    branch = BacktestBranch.open(repository, PROVENANCE)
    with pytest.raises(LakefsError, match="'signals' is empty"):
        branch.upload("signals", b"")


def fail_in_a_branch(repository: DataRepository, *, delete_on_failure: bool) -> str:
    names = []

    def run() -> None:
        opened = BacktestBranch.open(repository, PROVENANCE, delete_on_failure=delete_on_failure)
        with opened as branch:
            names.append(branch.name)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    return names[0]
