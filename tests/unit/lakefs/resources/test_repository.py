"""The repository as a resource, on the fake and on a real server."""

from typing import Any

import pytest
from pulumi.runtime import rpc

from lakefs.errors import LakefsError
from lakefs.fake.model import AnswerError
from lakefs.fake.server import FakeLakefs
from tests.support.lakefs_ground import Ground, on_fake
from tests.support.lakefs_repositories import PROVIDER, held


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


def test_a_conflict_that_is_not_of_the_name_is_told_as_lakefs_tells_it(fake: FakeLakefs) -> None:
    ground = on_fake(fake)
    declared = {
        **ground.properties,
        "name": ground.new_name(),
        "storage_namespace": ground.new_namespace(),
        "default_branch": "main",
        "read_only": False,
        "adopt": True,
    }

    def refuse() -> None:
        raise AnswerError(409, "the storage namespace is taken")

    fake.once("POST", "/repositories$", refuse)
    with pytest.raises(LakefsError, match="the storage namespace is taken"):
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


def test_new_keys_are_tried_before_they_are_kept(state: dict[str, Any]) -> None:
    with pytest.raises(LakefsError, match="check the access key id"):
        PROVIDER.update(state["name"], state, {**state, "secret_access_key": "wrong"})
