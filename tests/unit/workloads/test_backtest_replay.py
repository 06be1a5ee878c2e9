"""What a run read and wrote, by commit, on the fake and on a real server."""

import pytest

from lakefs.errors import LakefsError
from lakefs.repository import DataRepository
from tests.support.backtests import PROVENANCE, put
from tests.support.lakefs_ground import Ground
from workloads.backtest.branch import BacktestBranch
from workloads.backtest.provenance import ProvenanceError
from workloads.backtest.replay import Replay


@pytest.fixture
def repository(ground: Ground) -> DataRepository:
    made = ground.new_repository()
    put(made, "main", prices=b"1 2 3")
    return made


@pytest.fixture
def result(repository: DataRepository) -> str:
    branch = BacktestBranch.open(repository, PROVENANCE)
    branch.upload("signals/a", b"+1")
    branch.upload("signals/b", b"-1")
    commit_id = branch.commit("Signals")
    branch.upload("signals/a", b"0")
    branch.commit("A later thought")
    put(repository, "main", prices=b"9 9 9")
    branch.delete()
    return commit_id


def test_a_result_is_what_it_was_after_everything_has_moved(
    repository: DataRepository, result: str
) -> None:
    replay = Replay(repository, result)
    assert replay.commit_id == result
    assert replay.read("signals/a") == b"+1"
    assert list(replay.paths("signals/")) == ["signals/a", "signals/b"]
    assert replay.provenance == PROVENANCE


def test_the_inputs_of_a_result_are_the_data_it_started_from(
    repository: DataRepository, result: str
) -> None:
    inputs = Replay(repository, result).inputs()
    assert inputs.read("prices") == b"1 2 3"
    assert list(inputs.paths()) == ["prices"]


def test_a_reader_of_delta_tables_gets_an_address_that_does_not_move(
    repository: DataRepository, result: str
) -> None:
    address = Replay(repository, result).s3a("tables/trades")
    assert address == f"s3a://{repository.name}/{result}/tables/trades"


@pytest.mark.parametrize("moving", ["main", "bt-20261121-0a1b2c3d", "0123456789ab", ""])
def test_what_may_move_cannot_be_replayed(repository: DataRepository, moving: str) -> None:
    with pytest.raises(LakefsError, match="cannot be replayed: it must be a whole commit id"):
        Replay(repository, moving)


def test_a_commit_that_never_was_is_one_sentence(repository: DataRepository) -> None:
    with pytest.raises(LakefsError, match=r"did not show commit 000000000000 .*\(HTTP 404\)\.$"):
        Replay(repository, "0" * 64)


def test_a_commit_of_somebody_else_has_no_provenance(repository: DataRepository) -> None:
    replay = Replay(repository, repository.head("main"))
    with pytest.raises(ProvenanceError, match="does not say its experiment, team"):
        _ = replay.provenance
    with pytest.raises(LakefsError, match="does not say which data it started from"):
        replay.inputs()


def test_an_object_that_is_not_there_is_one_sentence(
    repository: DataRepository, result: str
) -> None:
    with pytest.raises(LakefsError, match="did not read 'nothing' at commit"):
        Replay(repository, result).read("nothing")
