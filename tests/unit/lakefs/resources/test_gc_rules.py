"""Garbage collection rules as a resource, on the fake and on a real server."""

from typing import Any

import pytest
from pulumi.runtime import rpc

from lakefs.errors import LakefsError
from lakefs.repository import DataRepository
from lakefs.resources.gc_rules import MOST_DAYS, GcRulesProvider
from tests.support.lakefs_ground import Ground

PROVIDER = GcRulesProvider()


@pytest.fixture
def repository(ground: Ground) -> DataRepository:
    return ground.new_repository()


@pytest.fixture
def declared(ground: Ground, repository: DataRepository) -> dict[str, Any]:
    return {
        **ground.properties,
        "repository": repository.name,
        "default_days": 30,
        "branch_days": {"main": 3650},
        "adopt": False,
    }


def put(repository: DataRepository, default: int, **branches: int) -> None:
    """As somebody does in the web interface."""
    lakefs = repository.lakefs
    rules = [{"branch_id": name, "retention_days": days} for name, days in branches.items()]
    lakefs.ask(
        "set rules",
        lakefs.api.repositories_api.set_gc_rules,
        repository.name,
        {"default_retention_days": default, "branches": rules},
    )


def shown(repository: DataRepository, declared: dict[str, Any]) -> dict[str, Any]:
    """What a refresh sees; empty where there is nothing."""
    read = PROVIDER.read(repository.name, declared)
    return dict(read.outs or {}) if read.id else {}


def failures(news: dict[str, Any]) -> list[str]:
    return [each.reason for each in PROVIDER.check({}, news).failures]


def test_what_is_declared_is_what_the_server_holds(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    made = PROVIDER.create(declared)
    assert (made.id, made.outs) == (repository.name, declared)
    assert shown(repository, declared) == declared


def test_rules_for_no_branch_by_name_are_read_back(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    every = {**declared, "branch_days": {}}
    PROVIDER.create(every)
    assert shown(repository, every) == every


def test_numbers_that_pulumi_hands_over_as_floats_make_no_difference(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    floats = {**declared, "default_days": 30.0, "branch_days": {"main": 3650.0}}
    assert not failures(floats)
    assert PROVIDER.create(floats).outs == declared
    assert not PROVIDER.diff(repository.name, shown(repository, declared), floats).changes


def test_a_change_in_the_web_interface_shows_at_refresh_and_is_undone_by_up(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    PROVIDER.create(declared)
    put(repository, 1)
    drifted = shown(repository, declared)
    assert (drifted["default_days"], drifted["branch_days"]) == (1, {})
    assert PROVIDER.diff(repository.name, drifted, declared).changes
    assert PROVIDER.update(repository.name, drifted, declared).outs == declared
    assert shown(repository, declared) == declared


def test_rules_of_somebody_else_are_not_overwritten_by_accident(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    put(repository, 7, theirs=14)
    with pytest.raises(LakefsError, match="already has garbage collection rules: set adopt"):
        PROVIDER.create(declared)
    assert shown(repository, declared)["branch_days"] == {"theirs": 14}
    PROVIDER.create({**declared, "adopt": True})
    assert shown(repository, declared)["branch_days"] == {"main": 3650}


def test_the_same_rules_are_simply_taken_over(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    put(repository, 30, main=3650)
    assert PROVIDER.create(declared).outs == declared


def test_deleting_keeps_everything_again(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    PROVIDER.create(declared)
    PROVIDER.delete(repository.name, declared)
    assert shown(repository, declared) == {}


def test_deleting_what_went_with_its_repository_is_no_error(
    declared: dict[str, Any], repository: DataRepository
) -> None:
    PROVIDER.create(declared)
    lakefs = repository.lakefs
    lakefs.ask("delete it", lakefs.api.repositories_api.delete_repository, repository.name)
    PROVIDER.delete(repository.name, declared)
    assert shown(repository, declared) == {}


def test_another_repository_is_another_resource(declared: dict[str, Any]) -> None:
    diff = PROVIDER.diff("id", declared, {**declared, "repository": "other"})
    assert diff.replaces == ["repository"]


@pytest.mark.parametrize("days", [0, -1, 1.5, MOST_DAYS + 1, "30", True])
@pytest.mark.parametrize("place", ["default_days", "branch_days"])
def test_days_that_lakefs_would_take_and_nobody_can_mean_are_refused(
    declared: dict[str, Any], place: str, days: object
) -> None:
    wrong = {"main": days} if place == "branch_days" else days
    (reason,) = failures({**declared, place: wrong})
    assert declared["repository"] in reason
    assert f"it must be a whole number of days from 1 to {MOST_DAYS}" in reason


@pytest.mark.parametrize("unknown", [rpc.UNKNOWN, {"main": rpc.UNKNOWN}])
def test_days_unknown_at_preview_are_left_for_up(declared: dict[str, Any], unknown: object) -> None:
    assert not failures({**declared, "branch_days": unknown})
