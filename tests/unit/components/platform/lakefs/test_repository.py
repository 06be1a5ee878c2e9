"""The repository as a resource, on the fake and on a real server."""

from typing import Any

import pytest
from lakefs_sdk.models.branch_creation import BranchCreation
from lakefs_sdk.models.branch_protection_rule import BranchProtectionRule
from lakefs_sdk.models.tag_creation import TagCreation
from pulumi.runtime import rpc

from components.platform.lakefs.repository import RepositoryProvider
from tests.fakes.lakefs.ground import Ground
from tests.fakes.lakefs.server import FakeLakefs
from workloads.lakefs.errors import LakefsError
from workloads.lakefs.repository import DataRepository

PROVIDER = RepositoryProvider()


@pytest.fixture
def declared(ground: Ground) -> dict[str, Any]:
    """What the program says of a repository that is not there yet."""
    return {
        **ground.properties,
        "name": ground.new_name(),
        "storage_namespace": ground.new_namespace(),
        "default_branch": "main",
        "read_only": False,
        "adopt": False,
        "delete_with_data": False,
    }


@pytest.fixture
def state(declared: dict[str, Any]) -> dict[str, Any]:
    """What is in the state after `pulumi up`."""
    outputs = PROVIDER.create(declared).outs
    assert outputs is not None
    return outputs


def held(ground: Ground, state: dict[str, Any]) -> DataRepository:
    return DataRepository(ground.lakefs, state["name"])


def failures(olds: dict[str, Any], news: dict[str, Any]) -> dict[str, str]:
    return {each.property: each.reason for each in PROVIDER.check(olds, news).failures}


def test_what_is_created_is_what_was_declared_and_needs_no_second_up(
    ground: Ground, declared: dict[str, Any]
) -> None:
    made = PROVIDER.create(declared)
    assert made.id == declared["name"]
    assert made.outs == declared
    assert held(ground, declared).head("main")
    assert PROVIDER.diff(made.id, declared, declared).changes is False


def test_refresh_finds_it_as_it_is(state: dict[str, Any]) -> None:
    found = PROVIDER.read(state["name"], state)
    assert (found.id, found.outs) == (state["name"], state)


def test_refresh_and_delete_find_that_it_is_gone(ground: Ground, state: dict[str, Any]) -> None:
    lakefs = ground.lakefs
    lakefs.ask("delete it", lakefs.api.repositories_api.delete_repository, state["name"])
    assert not PROVIDER.read(state["name"], state).id
    PROVIDER.delete(state["name"], state)
    with pytest.raises(LakefsError, match=r"is gone from .*: run `pulumi refresh`"):
        PROVIDER.update(state["name"], state, state)


def test_an_import_needs_no_more_than_the_name_and_the_keys(
    ground: Ground, state: dict[str, Any]
) -> None:
    found = PROVIDER.read(state["name"], dict(ground.properties))
    assert found.outs == state


def test_a_repository_of_somebody_else_is_not_taken_over_by_accident(
    declared: dict[str, Any], state: dict[str, Any]
) -> None:
    assert state["name"] == declared["name"]
    with pytest.raises(LakefsError, match=r"exists at .* set adopt to take it over"):
        PROVIDER.create(declared)


def test_adopting_takes_over_the_very_repository_that_was_declared(
    ground: Ground, declared: dict[str, Any], state: dict[str, Any]
) -> None:
    adopted = PROVIDER.create({**declared, "adopt": True})
    assert adopted.outs == {**state, "adopt": True}
    other = {**declared, "adopt": True, "storage_namespace": ground.new_namespace()}
    with pytest.raises(LakefsError, match="cannot be adopted: its storage_namespace is"):
        PROVIDER.create(other)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "other-name"),
        ("storage_namespace", "s3://other/place"),
        ("default_branch", "trunk"),
        ("read_only", True),
    ],
)
def test_what_lakefs_cannot_change_is_replaced_and_the_old_goes_first(
    declared: dict[str, Any], key: str, value: object
) -> None:
    diff = PROVIDER.diff("id", declared, {**declared, key: value})
    assert diff.changes
    assert diff.replaces == [key]
    assert diff.delete_before_replace, "two repositories cannot have one name"


@pytest.mark.parametrize(
    "key", ["endpoint", "access_key_id", "secret_access_key", "delete_with_data", "adopt"]
)
def test_new_keys_addresses_and_flags_never_replace_data(
    declared: dict[str, Any], key: str
) -> None:
    diff = PROVIDER.diff("id", declared, {**declared, key: "new"})
    assert diff.changes
    assert not diff.replaces


def test_a_namespace_unknown_at_preview_is_no_reason_to_replace(declared: dict[str, Any]) -> None:
    news = {**declared, "storage_namespace": rpc.UNKNOWN}
    assert not failures(declared, news)
    diff = PROVIDER.diff("id", declared, news)
    assert diff.changes
    assert not diff.replaces


def test_a_replacement_must_be_wanted_and_must_have_a_new_namespace(
    declared: dict[str, Any],
) -> None:
    wrong = failures(declared, {**declared, "default_branch": "trunk"})
    assert "never takes a storage namespace twice" in wrong["storage_namespace"]
    assert "set delete_with_data, run `pulumi up`, change it then" in wrong["delete_with_data"]
    allowed = {**declared, "delete_with_data": True}
    moved = {**allowed, "default_branch": "trunk", "storage_namespace": "s3://bucket/second"}
    assert not failures(allowed, moved)


def test_the_flag_must_be_in_the_state_before_it_counts(declared: dict[str, Any]) -> None:
    moved = {**declared, "delete_with_data": True, "storage_namespace": "s3://bucket/second"}
    assert failures(declared, moved).keys() == {"delete_with_data"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "No Capitals"),
        ("name", "ab"),
        ("storage_namespace", "bucket/prefix"),
        ("default_branch", "-main"),
        ("access_key_id", ""),
        ("secret_access_key", ""),
        ("endpoint", ""),
        ("endpoint", "lakefs.fleet.example"),
        ("endpoint", "https://user:password@lakefs.fleet.example"),
    ],
)
def test_a_wrong_input_is_a_sentence_at_preview(
    declared: dict[str, Any], key: str, value: str
) -> None:
    wrong = failures({}, {**declared, key: value})
    assert wrong.keys() == {key}
    assert wrong[key].startswith("lakeFS repository ")
    assert wrong[key].endswith(".")
    assert "password" not in wrong[key]


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


def protected(repository: DataRepository) -> None:
    lakefs = repository.lakefs
    rules = [BranchProtectionRule(pattern="main")]
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
        (protected, "has branch protection rules"),
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


def test_new_keys_are_tried_before_they_are_kept(state: dict[str, Any]) -> None:
    with pytest.raises(LakefsError, match="check the access key id"):
        PROVIDER.update(state["name"], state, {**state, "secret_access_key": "wrong"})
