"""Dynamic resources: their own provider checks them, and no server is called."""

import json
from pathlib import Path
from typing import Any

import pytest
from pulumi.dynamic.dynamic import serialize_provider
from pulumi.runtime.proto import provider_pb2

from lakefs.resources.administrator import AdministratorProvider
from lakefs.resources.repository import RepositoryProvider
from rehearsal.providers.cloud import Cloud, read
from rehearsal.providers.dynamic import PROVIDER, DynamicProvider
from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.support.rehearsal.provider_engine import FakeEngine, Refused, engine

REPOSITORY = "pulumi-python:dynamic/lakefs:Repository"
ADMINISTRATOR = "pulumi-python:dynamic/lakefs:Administrator"


def properties(**changes: Any) -> Properties:
    return {
        PROVIDER: serialize_provider(RepositoryProvider()),
        "endpoint": "https://lakefs.fleet.example",
        "access_key_id": Secret("AKIA"),
        "secret_access_key": Secret("hunter2"),
        "name": "backtests",
        "storage_namespace": "s3://bucket/backtests",
        "default_branch": "main",
        "read_only": False,
        "adopt": False,
        "delete_with_data": False,
        **changes,
    }


@pytest.fixture
def dynamic(tmp_path: Path) -> FakeEngine:
    attached = engine(DynamicProvider(cloud=Cloud(tmp_path)), tmp_path)
    attached.configure({})
    return attached


def test_what_the_resources_own_provider_refuses_is_refused(dynamic: FakeEngine) -> None:
    said = dynamic.refusal(REPOSITORY, properties(name="Back Tests"))
    assert said.startswith("lakeFS repository 'Back Tests' has name 'Back Tests'; it must be")


def test_a_resource_is_recorded_and_no_server_is_asked(dynamic: FakeEngine) -> None:
    made = dynamic.created(REPOSITORY, properties(), "backtests-repository")
    assert made.outputs == made.inputs == properties()
    (thing,) = read(dynamic.directory)
    assert (thing.provider, thing.id) == ("pulumi-python", "backtests-repository")
    assert thing.inputs["name"] == "backtests"
    assert PROVIDER not in thing.inputs
    calls = [json.loads(x) for x in (dynamic.directory / "calls.jsonl").read_text().splitlines()]
    assert [(call["method"], call["type"]) for call in calls] == [
        ("Check", REPOSITORY),
        ("Create", REPOSITORY),
    ]


def test_keys_stay_secret(dynamic: FakeEngine) -> None:
    made = dynamic.created(REPOSITORY, properties())
    assert isinstance(made.outputs["secret_access_key"], Secret)
    assert "hunter2" not in (dynamic.directory / "calls.jsonl").read_text()


def test_a_preview_records_nothing_and_leaves_unknown_what_is(dynamic: FakeEngine) -> None:
    found = dynamic.previewed(REPOSITORY, properties(storage_namespace=UNKNOWN))
    assert found["storage_namespace"] == UNKNOWN
    assert read(dynamic.directory) == []


def test_its_provider_says_what_an_update_changes_and_replaces(dynamic: FakeEngine) -> None:
    made = dynamic.created(REPOSITORY, properties(delete_with_data=True))
    some, none = provider_pb2.DiffResponse.DIFF_SOME, provider_pb2.DiffResponse.DIFF_NONE
    assert dynamic.diff(made, properties(delete_with_data=True)).changes == none
    moved = properties(delete_with_data=True, storage_namespace="s3://bucket/other")
    answer = dynamic.diff(made, moved)
    assert answer.changes == some
    assert list(answer.replaces) == ["storage_namespace"]
    assert answer.deleteBeforeReplace
    flagged = dynamic.diff(made, properties(delete_with_data=True, adopt=True))
    assert (flagged.changes, list(flagged.diffs)) == (some, ["adopt"])
    assert not flagged.replaces


def test_an_update_is_recorded_and_a_removal_forgets(dynamic: FakeEngine) -> None:
    inputs = {**properties(), PROVIDER: serialize_provider(AdministratorProvider())}
    inputs["user_name"] = "admin"
    made = dynamic.created(ADMINISTRATOR, inputs)
    dynamic.updated(made, {**inputs, "user_name": "desk"})
    (thing,) = read(dynamic.directory)
    assert thing.inputs["user_name"] == "desk"
    assert dynamic.read(made) is not None
    dynamic.delete(made)
    assert read(dynamic.directory) == []
    assert dynamic.read(made) is None


def test_a_resource_without_its_provider_is_a_sentence(dynamic: FakeEngine) -> None:
    inputs = properties()
    del inputs[PROVIDER]
    with pytest.raises(Refused, match="comes without its provider"):
        dynamic.checked(REPOSITORY, inputs)
