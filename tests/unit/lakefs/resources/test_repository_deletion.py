"""A repository goes only when it is empty, or when that was said before."""

from typing import Any

import pytest
from lakefs_sdk.models.branch_creation import BranchCreation
from lakefs_sdk.models.branch_protection_rule import BranchProtectionRule
from lakefs_sdk.models.tag_creation import TagCreation

from lakefs.action_files import FOLDER, metadata_gate
from lakefs.errors import LakefsError
from lakefs.fake.server import FakeLakefs
from lakefs.repository import DataRepository
from lakefs.resources.connection import MANAGED
from tests.support.lakefs_ground import Ground
from tests.support.lakefs_repositories import PROVIDER, held


def test_an_empty_repository_may_go(ground: Ground, state: dict[str, Any]) -> None:
    PROVIDER.delete(state["name"], state)
    with pytest.raises(LakefsError, match="404"):
        held(ground, state).head("main")


def uncommitted(repository: DataRepository) -> None:
    repository.upload("main", "prices", b"1")


def committed_on_a_branch(repository: DataRepository) -> None:
    repository.open_branch("side", repository.head("main"))
    repository.upload("side", "prices", b"1")
    repository.commit("side", "Prices", {})


def on_a_hidden_branch(repository: DataRepository) -> None:
    lakefs = repository.lakefs
    hidden = BranchCreation.parse_obj({"name": "side", "source": "main", "hidden": True})
    lakefs.ask("open it", lakefs.api.branches_api.create_branch, repository.name, hidden)
    repository.upload("side", "prices", b"1")


def in_history(repository: DataRepository) -> None:
    repository.upload("main", "prices", b"1")
    repository.commit("main", "Prices", {})
    repository.remove("main", "prices")
    repository.commit("main", "No prices", {})


def tagged(repository: DataRepository) -> None:
    lakefs = repository.lakefs
    tag = TagCreation.parse_obj({"id": "v1", "ref": "main"})
    lakefs.ask("tag it", lakefs.api.tags_api.create_tag, repository.name, tag)


def protected(repository: DataRepository, pattern: str = "release-*") -> None:
    lakefs = repository.lakefs
    rules = [BranchProtectionRule(pattern=pattern)]
    protect = lakefs.api.repositories_api.set_branch_protection_rules
    lakefs.ask("protect it", protect, repository.name, rules)


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (uncommitted, "holds 'prices' on branch 'main'"),
        (committed_on_a_branch, "holds 'prices' on branch 'side'"),
        (on_a_hidden_branch, "holds 'prices' on branch 'side'"),
        (in_history, "has the commit [0-9a-f]{12} \\('No prices'\\) on 'main'"),
        (tagged, "has the tag 'v1'"),
        (protected, "protects the branch 'release-\\*'"),
    ],
)
def test_a_repository_that_holds_anything_goes_only_when_that_was_said_before(
    ground: Ground, state: dict[str, Any], fill: Any, reason: str
) -> None:
    fill(held(ground, state))
    with pytest.raises(LakefsError, match=f"is not deleted: it {reason}.* Set delete_with_data"):
        PROVIDER.delete(state["name"], state)
    assert held(ground, state).head("main"), "it is still there"
    flagged = PROVIDER.update(state["name"], state, {**state, "delete_with_data": True}).outs
    assert flagged is not None
    PROVIDER.delete(state["name"], flagged)
    with pytest.raises(LakefsError, match="404"):
        held(ground, state).head("main")


def test_what_the_program_itself_makes_in_a_repository_is_no_data(
    ground: Ground, state: dict[str, Any]
) -> None:
    repository = held(ground, state)
    check = metadata_gate("merge-check", branches=["main"], required=["team"])
    repository.upload("main", f"{FOLDER}merge-check.yaml", check.encode())
    repository.commit("main", "Set the action merge-check", MANAGED)
    protected(repository, "main")
    PROVIDER.delete(state["name"], state)
    with pytest.raises(LakefsError, match="404"):
        repository.head("main")


def test_a_read_only_repository_goes_only_when_that_was_said_before(
    fake: FakeLakefs, declared: dict[str, Any]
) -> None:
    if declared["endpoint"] != fake.endpoint:
        pytest.skip("what a read-only repository needs to exist is not part of the public API")
    state = PROVIDER.create({**declared, "read_only": True}).outs
    assert state is not None
    with pytest.raises(LakefsError, match="is not deleted: it is read-only"):
        PROVIDER.delete(state["name"], state)
    PROVIDER.delete(state["name"], {**state, "delete_with_data": True})
    assert not PROVIDER.read(state["name"], state).id
