"""Dynamic resources: their own provider checks them; those inside lakeFS are made in the twin's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi.dynamic.dynamic import serialize_provider
from pulumi.runtime.proto import provider_pb2

from lakefs.action_files import metadata_gate
from lakefs.fake import FakeLakefs, Model, serving
from lakefs.resources.action import ActionProvider
from lakefs.resources.administrator import AdministratorProvider
from lakefs.resources.branch_protection import BranchProtectionProvider
from lakefs.resources.repository import RepositoryProvider
from rehearsal.lakefs_server import LakefsServer
from rehearsal.providers.cloud import Cloud, read
from rehearsal.providers.dynamic import PROVIDER, DynamicProvider
from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.support.rehearsal.provider_engine import FakeEngine, Refused, engine

REPOSITORY = "pulumi-python:dynamic/lakefs:Repository"
PROTECTION = "pulumi-python:dynamic/lakefs:BranchProtection"
ACTION = "pulumi-python:dynamic/lakefs:Action"
ADMINISTRATOR = "pulumi-python:dynamic/lakefs:Administrator"
ELSEWHERE = "pulumi-python:dynamic/elsewhere:Repository"
"""A type whose server no rehearsal has."""
CHECK = metadata_gate("merge-check", branches=["main"], required=["team"])


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


CONNECTION = {
    "endpoint": "https://lakefs.fleet.example",
    "access_key_id": Secret("AKIA"),
    "secret_access_key": Secret("hunter2"),
}


def attach(server: LakefsServer, folder: Path) -> FakeEngine:
    attached = engine(DynamicProvider(cloud=Cloud(folder), lakefs=server), folder)
    attached.configure({})
    return attached


@pytest.fixture
def fake() -> Iterator[FakeLakefs]:
    """The server of a twin, which knows the keys of the stack."""
    with serving(Model(access_key_id="AKIA", secret_access_key="hunter2")) as server:
        yield server


@pytest.fixture
def dynamic(fake: FakeLakefs, tmp_path: Path) -> FakeEngine:
    return attach(LakefsServer(endpoint=fake.endpoint), tmp_path)


@pytest.fixture
def on_named(fake: FakeLakefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """The providers of a rehearsal on a server that the user has named, with keys of its own."""
    fake.model.access_key_id, fake.model.secret_access_key = "OWN", "theirs"
    monkeypatch.setenv("LAKEFS_ACCESS_KEY_ID", "OWN")
    monkeypatch.setenv("LAKEFS_SECRET_ACCESS_KEY", "theirs")
    server = LakefsServer(
        endpoint=fake.endpoint, prefix="rehearsal-0a1b2c3d-", namespace="local://them"
    )
    return attach(server, tmp_path)


def test_what_the_resources_own_provider_refuses_is_refused(dynamic: FakeEngine) -> None:
    said = dynamic.refusal(REPOSITORY, properties(name="Back Tests"))
    assert said.startswith("lakeFS repository 'Back Tests' has name 'Back Tests'; it must be")


def test_a_resource_without_a_server_is_recorded_and_none_is_asked(
    dynamic: FakeEngine, fake: FakeLakefs
) -> None:
    made = dynamic.created(ELSEWHERE, properties(), "backtests-repository")
    assert made.outputs == made.inputs == properties()
    assert fake.requests == []
    (thing,) = read(dynamic.directory)
    assert (thing.provider, thing.id) == ("pulumi-python", "backtests-repository")
    assert thing.inputs["name"] == "backtests"
    assert PROVIDER not in thing.inputs
    calls = [json.loads(x) for x in (dynamic.directory / "calls.jsonl").read_text().splitlines()]
    assert [(call["method"], call["type"]) for call in calls] == [
        ("Check", ELSEWHERE),
        ("Create", ELSEWHERE),
    ]


def test_a_repository_is_made_in_the_twins_lakefs_and_found_and_deleted_there(
    dynamic: FakeEngine, fake: FakeLakefs
) -> None:
    made = dynamic.created(REPOSITORY, properties())
    assert made.outputs == made.inputs == properties(), "the program sees its own endpoint"
    assert fake.model.repositories["backtests"].storage_namespace == "s3://bucket/backtests"
    assert read(dynamic.directory) == []
    again = dynamic.read(made)
    assert again is not None
    assert again.outputs == made.outputs
    dynamic.delete(made)
    assert fake.model.repositories == {}
    assert dynamic.read(made) is None


def test_what_lakefs_refuses_is_a_problem_of_the_resource(
    dynamic: FakeEngine, fake: FakeLakefs
) -> None:
    dynamic.created(REPOSITORY, properties())
    with pytest.raises(Refused, match=r"^backtests-too: lakeFS repository 'backtests' exists at"):
        dynamic.created(REPOSITORY, properties(), "backtests-too")
    fake.model.secret_access_key = "changed"
    with pytest.raises(Refused, match=r"second: lakeFS at .* check the access key id .*HTTP 401"):
        dynamic.created(REPOSITORY, properties(name="second"), "second")


def test_the_administrator_of_an_empty_server_gets_the_keys_of_the_stack(
    dynamic: FakeEngine, fake: FakeLakefs
) -> None:
    fake.model.initialized, fake.model.access_key_id = False, ""
    inputs = {**CONNECTION, PROVIDER: serialize_provider(AdministratorProvider())}
    made = dynamic.created(ADMINISTRATOR, {**inputs, "user_name": "admin"})
    assert fake.model.initialized
    assert (fake.model.access_key_id, fake.model.secret_access_key) == ("AKIA", "hunter2")
    assert made.outputs["endpoint"] == CONNECTION["endpoint"]


def test_drift_in_lakefs_shows_and_is_undone(dynamic: FakeEngine, fake: FakeLakefs) -> None:
    dynamic.created(REPOSITORY, properties())
    inputs = {
        **CONNECTION,
        PROVIDER: serialize_provider(BranchProtectionProvider()),
        "repository": "backtests",
        "patterns": ["main"],
        "adopt": False,
    }
    made = dynamic.created(PROTECTION, inputs)
    fake.model.repositories["backtests"].protection = ("elsewhere",)
    drifted = dynamic.read(made)
    assert drifted is not None
    assert drifted.outputs["patterns"] == ["elsewhere"]
    assert dynamic.updated(made, inputs)["patterns"] == ["main"]
    assert fake.model.repositories["backtests"].protection == ("main",)


def test_on_a_named_server_all_has_a_name_of_its_own_and_the_program_does_not_see_it(
    on_named: FakeEngine, fake: FakeLakefs
) -> None:
    theirs = fake.model.create_repository("backtests", "s3://theirs", "main", read_only=False)
    repository = on_named.created(REPOSITORY, properties())
    inputs = {
        **CONNECTION,
        PROVIDER: serialize_provider(ActionProvider()),
        "repository": "backtests",
        "name": "merge-check",
        "content": CHECK,
        "branch": "main",
        "adopt": False,
    }
    action = on_named.created(ACTION, inputs)
    own = "rehearsal-0a1b2c3d-backtests"
    assert set(fake.model.repositories) == {"backtests", own}
    assert fake.model.repositories[own].storage_namespace == f"local://them/{own}"
    assert repository.outputs == properties()
    assert action.outputs == inputs
    assert len(theirs.commits) == 1
    assert [path for _, path in fake.requests if "/repositories/backtests" in path] == []
    on_named.delete(action)
    on_named.delete(repository)
    assert set(fake.model.repositories) == {"backtests"}
    texts = [path.read_text() for path in on_named.directory.rglob("*") if path.is_file()]
    assert not any("theirs" in text for text in texts), "its keys are in no file"


def test_keys_stay_secret(dynamic: FakeEngine) -> None:
    made = dynamic.created(REPOSITORY, properties())
    assert isinstance(made.outputs["secret_access_key"], Secret)
    assert "hunter2" not in (dynamic.directory / "calls.jsonl").read_text()


def test_a_preview_records_nothing_and_leaves_unknown_what_is(dynamic: FakeEngine) -> None:
    found = dynamic.previewed(REPOSITORY, properties(storage_namespace=UNKNOWN))
    assert found["storage_namespace"] == UNKNOWN
    assert read(dynamic.directory) == []


def test_its_provider_says_what_an_update_changes_and_replaces(dynamic: FakeEngine) -> None:
    made = dynamic.created(ELSEWHERE, properties(delete_with_data=True))
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
    inputs = {**properties(), PROVIDER: serialize_provider(RepositoryProvider())}
    made = dynamic.created(ELSEWHERE, inputs)
    dynamic.updated(made, {**inputs, "adopt": True})
    (thing,) = read(dynamic.directory)
    assert thing.inputs["adopt"] is True
    assert dynamic.read(made) is not None
    dynamic.delete(made)
    assert read(dynamic.directory) == []
    assert dynamic.read(made) is None


def test_a_resource_without_its_provider_is_a_sentence(dynamic: FakeEngine) -> None:
    inputs = properties()
    del inputs[PROVIDER]
    with pytest.raises(Refused, match="comes without its provider"):
        dynamic.checked(REPOSITORY, inputs)
