"""An action file as a resource, on the fake and on a real server."""

from typing import Any

import pytest

from lakefs.action_files import webhook_gate
from lakefs.errors import LakefsError
from lakefs.fake.model import AnswerError
from lakefs.fake.server import FakeLakefs
from lakefs.repository import DataRepository
from lakefs.resources.action import ActionProvider
from lakefs.resources.branch_protection import BranchProtectionProvider
from tests.support.lakefs_ground import Ground, on_fake

PROVIDER = ActionProvider()
PATH = "_lakefs_actions/check.yaml"

# for a branch that nobody merges into here, so that no webhook has to answer
CONTENT = webhook_gate("check", branches=["release"], url="http://127.0.0.1:9/check")
SECOND = webhook_gate("check", branches=["release"], url="http://127.0.0.1:9/second")


@pytest.fixture
def repository(ground: Ground) -> DataRepository:
    return ground.new_repository()


@pytest.fixture
def declared(ground: Ground, repository: DataRepository) -> dict[str, Any]:
    return declaration(ground, repository)


def declaration(ground: Ground, repository: DataRepository) -> dict[str, Any]:
    return {
        **ground.properties,
        "repository": repository.name,
        "branch": "main",
        "name": "check",
        "content": CONTENT,
        "adopt": False,
    }


def on_main(repository: DataRepository) -> str:
    return repository.read(repository.head("main"), PATH).decode()


def branches(repository: DataRepository) -> list[str]:
    lakefs = repository.lakefs
    listed = lakefs.everything("list", lakefs.api.branches_api.list_branches, repository.name)
    return [branch.id for branch in listed]


def protect_main(ground: Ground, repository: DataRepository) -> None:
    rules = {"repository": repository.name, "patterns": ["main"], "adopt": False}
    BranchProtectionProvider().create({**ground.properties, **rules})


def test_the_file_comes_in_by_a_merge_that_says_who_made_it(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    made = PROVIDER.create(declared)
    assert made.id == f"{repository.name}/main/check"
    assert made.outs == declared
    assert on_main(repository) == CONTENT
    commit = repository.show(repository.head("main"))
    assert len(commit.parents) == 2
    assert commit.message == "Set the action check"
    assert (commit.metadata or {})["managed-by"] == "gpu-fleet"
    assert branches(repository) == ["main"], "the branch it came by is gone"


def test_it_is_set_changed_and_removed_on_a_protected_branch(
    ground: Ground, declared: dict[str, Any], repository: DataRepository
) -> None:
    protect_main(ground, repository)
    PROVIDER.create(declared)
    second = {**declared, "content": SECOND}
    assert PROVIDER.update("id", declared, second).outs == second
    assert on_main(repository) == SECOND
    PROVIDER.delete("id", second)
    with pytest.raises(LakefsError, match="404"):
        on_main(repository)


def test_a_change_past_the_program_shows_at_refresh_and_is_undone_by_up(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    id_ = PROVIDER.create(declared).id
    repository.upload("main", PATH, SECOND.encode())
    repository.commit("main", "Another check", {})
    drifted = PROVIDER.read(id_, declared).outs
    assert drifted is not None
    assert drifted["content"] == SECOND
    assert PROVIDER.diff(id_, drifted, declared).changes
    PROVIDER.update(id_, drifted, declared)
    assert on_main(repository) == CONTENT


def test_a_file_that_was_removed_shows_at_refresh(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    id_ = PROVIDER.create(declared).id
    repository.remove("main", PATH)
    repository.commit("main", "No check", {})
    assert not PROVIDER.read(id_, declared).id
    PROVIDER.delete(id_, declared)


def test_an_import_needs_no_more_than_the_id_and_the_keys(
    ground: Ground, declared: dict[str, Any]
) -> None:
    id_ = PROVIDER.create(declared).id
    assert PROVIDER.read(id_, dict(ground.properties)).outs == declared


def test_a_file_of_somebody_else_is_not_replaced_by_accident(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    repository.upload("main", PATH, SECOND.encode())
    repository.commit("main", "Their check", {})
    with pytest.raises(LakefsError, match="exists with other content: set adopt"):
        PROVIDER.create(declared)
    assert on_main(repository) == SECOND
    PROVIDER.create({**declared, "adopt": True})
    assert on_main(repository) == CONTENT


def test_a_file_that_is_there_already_makes_no_commit(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    PROVIDER.create(declared)
    head = repository.head("main")
    assert PROVIDER.create(declared).outs == declared
    PROVIDER.update("id", declared, declared)
    assert repository.head("main") == head


@pytest.mark.parametrize("key", ["repository", "branch", "name"])
def test_another_place_is_another_resource(declared: dict[str, Any], key: str) -> None:
    assert PROVIDER.diff("id", declared, {**declared, key: "other"}).replaces == [key]


def test_what_lakefs_would_refuse_at_the_first_merge_is_refused_at_preview(
    declared: dict[str, Any],
) -> None:
    wrong = {**declared, "content": "name: check\non: {before-merge: }\nhooks: []\n"}
    reasons = [failure.reason for failure in PROVIDER.check({}, wrong).failures]
    assert len(reasons) == 2
    assert all(declared["repository"] in reason for reason in reasons)


def test_a_refused_merge_leaves_neither_a_change_nor_a_branch(fake: FakeLakefs) -> None:
    ground = on_fake(fake)
    repository = ground.new_repository()
    before = repository.head("main")

    def refuse() -> None:
        raise AnswerError(412, "pre-merge hook aborted")

    fake.once("POST", "/merge/", refuse)
    with pytest.raises(LakefsError, match="pre-merge hook aborted"):
        PROVIDER.create(declaration(ground, repository))
    assert repository.head("main") == before
    assert branches(repository) == ["main"]


def test_the_merge_of_somebody_else_meanwhile_is_kept(fake: FakeLakefs) -> None:
    ground = on_fake(fake)
    repository = ground.new_repository()

    def commit_prices() -> None:
        repository.upload("main", "prices", b"1")
        repository.commit("main", "Prices", {})

    fake.once("POST", "/merge/", commit_prices)
    PROVIDER.create(declaration(ground, repository))
    assert on_main(repository) == CONTENT
    assert repository.read(repository.head("main"), "prices") == b"1"
