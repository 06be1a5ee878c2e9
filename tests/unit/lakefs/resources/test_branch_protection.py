"""Branch protection as a resource, on the fake and on a real server."""

from typing import Any

import pytest
from lakefs_sdk.models.branch_protection_rule import BranchProtectionRule
from pulumi.runtime import rpc

from lakefs.errors import LakefsError
from lakefs.fake.server import FakeLakefs
from lakefs.repository import DataRepository
from lakefs.resources.branch_protection import BranchProtectionProvider
from tests.support.lakefs_ground import Ground, on_fake

PROVIDER = BranchProtectionProvider()


@pytest.fixture
def repository(ground: Ground) -> DataRepository:
    return ground.new_repository()


@pytest.fixture
def declared(ground: Ground, repository: DataRepository) -> dict[str, Any]:
    return {
        **ground.properties,
        "repository": repository.name,
        "patterns": ["main", "release-*"],
        "adopt": False,
    }


def outputs(declared: dict[str, Any]) -> dict[str, Any]:
    outs = PROVIDER.create(declared).outs
    assert outs is not None
    return outs


def protect(repository: DataRepository, *patterns: str) -> None:
    """As somebody does in the web interface."""
    lakefs = repository.lakefs
    lakefs.ask(
        "protect",
        lakefs.api.repositories_api.set_branch_protection_rules,
        repository.name,
        [BranchProtectionRule(pattern=pattern) for pattern in patterns],
    )


def patterns(repository: DataRepository) -> set[str]:
    lakefs = repository.lakefs
    rules = lakefs.ask(
        "show the protection",
        lakefs.api.repositories_api.get_branch_protection_rules,
        repository.name,
    )
    return {rule.pattern for rule in rules}


def failures(news: dict[str, Any]) -> list[str]:
    return [each.reason for each in PROVIDER.check({}, news).failures]


def test_a_protected_branch_takes_no_direct_write_but_a_merge(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    made = PROVIDER.create(declared)
    assert (made.id, made.outs) == (repository.name, declared)
    with pytest.raises(LakefsError, match="protected") as refused:
        repository.upload("main", "prices", b"1")
    assert refused.value.status == 403
    repository.open_branch("side", repository.head("main"))
    repository.upload("side", "prices", b"1")
    repository.commit("side", "Prices", {})
    assert repository.merge("side", "main", "Prices", {}) == repository.head("main")


def test_a_change_in_the_web_interface_shows_at_refresh_and_is_undone_by_up(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    outputs(declared)
    protect(repository, "somewhere-else")
    drifted = PROVIDER.read(repository.name, declared).outs
    assert drifted is not None
    assert drifted["patterns"] == ["somewhere-else"]
    assert PROVIDER.diff(repository.name, drifted, declared).changes
    assert PROVIDER.update(repository.name, drifted, declared).outs == declared
    assert patterns(repository) == {"main", "release-*"}


def test_rules_that_all_went_away_are_a_resource_that_is_gone(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    outputs(declared)
    protect(repository)
    assert not PROVIDER.read(repository.name, declared).id


def test_rules_of_somebody_else_are_not_overwritten_by_accident(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    protect(repository, "main", "their-*")
    with pytest.raises(LakefsError, match=r"already protects main, their-\*: set adopt"):
        PROVIDER.create(declared)
    assert patterns(repository) == {"main", "their-*"}
    PROVIDER.create({**declared, "adopt": True})
    assert patterns(repository) == {"main", "release-*"}


def test_the_same_rules_are_simply_taken_over(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    protect(repository, "release-*", "main")
    assert outputs(declared) == declared


def test_deleting_opens_the_branches_again(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    PROVIDER.delete(repository.name, outputs(declared))
    assert patterns(repository) == set()


def test_deleting_what_went_with_its_repository_is_no_error(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    state = outputs(declared)
    lakefs = repository.lakefs
    lakefs.ask("delete it", lakefs.api.repositories_api.delete_repository, repository.name)
    PROVIDER.delete(repository.name, state)
    assert not PROVIDER.read(repository.name, state).id


def test_another_repository_is_another_resource(declared: dict[str, Any]) -> None:
    diff = PROVIDER.diff("id", declared, {**declared, "repository": "other"})
    assert diff.replaces == ["repository"]


def test_the_order_of_the_patterns_says_nothing(declared: dict[str, Any]) -> None:
    news = {**declared, "patterns": ["release-*", "main", "main"]}
    checked = PROVIDER.check(declared, news)
    assert not checked.failures
    assert not PROVIDER.diff("id", declared, checked.inputs).changes


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([], "must name at least one"),
        (["main", ""], "protects nothing"),
        (["*"], "no branch that can be written"),
    ],
)
def test_rules_that_protect_nothing_or_everything_are_refused(
    declared: dict[str, Any], wrong: list[str], said: str
) -> None:
    (reason,) = failures({**declared, "patterns": wrong})
    assert said in reason
    assert declared["repository"] in reason


@pytest.mark.parametrize("unknown", [rpc.UNKNOWN, [rpc.UNKNOWN, "main"]])
def test_patterns_unknown_at_preview_are_left_for_up(
    declared: dict[str, Any], unknown: object
) -> None:
    assert not failures({**declared, "patterns": unknown})


def test_a_change_that_someone_makes_meanwhile_is_never_lost(fake: FakeLakefs) -> None:
    ground = on_fake(fake)
    repository = ground.new_repository()
    fake.once("PUT", "/branch_protection$", lambda: protect(repository, "their-*"))
    declared = {
        **ground.properties,
        "repository": repository.name,
        "patterns": ["main"],
        "adopt": False,
    }
    with pytest.raises(LakefsError, match="changed by someone else while it was being set"):
        PROVIDER.create(declared)
    assert patterns(repository) == {"their-*"}
