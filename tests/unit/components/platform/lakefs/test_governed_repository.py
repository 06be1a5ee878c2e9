"""The repository with its check and its protection: who waits for whom, and what is secret."""

from typing import Any

import pytest
import yaml

from components.platform.lakefs.governed_repository import (
    GovernedRepository,
    GovernedRepositoryArgs,
)
from lakefs.resources.connection import Connection
from lakefs.resources.gc_rules import MOST_DAYS
from tests.support.recorder import Registered, Secret, named, plain, render
from workloads.backtest.provenance import REQUIRED

CONNECTION = Connection(
    endpoint="https://lakefs.fleet.example", access_key_id="AKIA", secret_access_key="s3cret"
)


def declared(*, preview: bool = False, **changes: Any) -> list[Registered]:
    args = GovernedRepositoryArgs(
        connection=CONNECTION,
        repository="backtests",
        storage_namespace="s3://fleet-dev-us-east-1-lakefs/backtests",
        **changes,
    )
    return render(lambda: GovernedRepository("bt", args) and None, preview=preview)


def of(resources: list[Registered], kind: str) -> Registered:
    (found,) = named(resources, kind).values()
    return found


def test_the_keys_are_secret_in_every_resource_whatever_they_come_as() -> None:
    resources = [each for each in declared() if each.custom]
    assert len(resources) == 3
    for each in resources:
        assert each.inputs["access_key_id"] == Secret("AKIA")
        assert each.inputs["secret_access_key"] == Secret("s3cret")
        assert "s3cret" not in str(plain(dict(each.inputs)))
    assert "s3cret" not in repr(CONNECTION)


def test_the_serialised_provider_names_a_class_and_holds_no_value() -> None:
    for each in declared():
        if each.custom:
            assert isinstance(each.inputs["__provider"], str), "nothing in it is secret"
            assert len(each.inputs["__provider"]) < 200, "a reference, not the code"


def test_main_is_protected_only_after_the_check_is_there() -> None:
    protection, check = of(declared(), "BranchProtection"), of(declared(), "Action")
    assert any(urn.endswith("::bt-check") for urn in protection.depends_on)
    assert any(urn.endswith("::bt-repository") for urn in check.depends_on)
    assert protection.inputs["patterns"] == ["main"]
    assert check.inputs["branch"] == "main"


def test_without_an_address_the_check_asks_for_the_provenance_of_a_backtest() -> None:
    (hook,) = yaml.safe_load(str(of(declared(), "Action").inputs["content"]))["hooks"]
    assert hook["properties"]["args"].keys() == set(REQUIRED)


def test_with_an_address_the_check_asks_there() -> None:
    resources = declared(check_url="https://check.fleet.example")
    (hook,) = yaml.safe_load(str(of(resources, "Action").inputs["content"]))["hooks"]
    assert hook["properties"]["url"] == "https://check.fleet.example"


def test_main_keeps_for_ever_what_a_replay_needs() -> None:
    rules = of(declared(keep_days=90), "GcRules")
    assert rules.inputs["default_days"] == 90
    assert rules.inputs["branch_days"] == {"main": MOST_DAYS}
    assert not named(declared(), "GcRules"), "without days everything is kept"


def test_a_repository_is_neither_adopted_nor_lost_unless_that_is_said() -> None:
    inputs = of(declared(), "Repository").inputs
    assert inputs["adopt"] is inputs["delete_with_data"] is False


@pytest.mark.parametrize("preview", [True, False])
def test_preview_and_up_register_the_same(preview: bool) -> None:
    assert [each.name for each in declared(preview=preview)] == [
        "bt",
        "bt-repository",
        "bt-check",
        "bt-protection",
    ]
