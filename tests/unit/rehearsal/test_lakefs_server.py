"""The lakeFS server of a twin: its own, or one that the user names, where nothing stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakefs.fake import FakeLakefs, Model, serving
from rehearsal import lakefs_held, lakefs_server
from rehearsal.errors import RehearsalError
from rehearsal.workspace import Workspace

KEYS = {"access_key_id": "AKIA", "secret_access_key": "hunter2"}
PROXY = "http://127.0.0.1:9"


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLakefs]:
    """A server with a repository of somebody else, which the environment names."""
    with serving(Model(access_key_id="AKIA", secret_access_key="hunter2")) as fake:
        fake.model.create_repository("backtests", "s3://theirs", "main", read_only=False)
        monkeypatch.setenv("LAKEFS_ENDPOINT", f"{fake.endpoint}/")
        monkeypatch.setenv("LAKEFS_ACCESS_KEY_ID", "AKIA")
        monkeypatch.setenv("LAKEFS_SECRET_ACCESS_KEY", "hunter2")
        monkeypatch.delenv("LAKEFS_STORAGE_NAMESPACE", raising=False)
        yield fake


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = Workspace(root=tmp_path, environment="dev")
    found.directory.mkdir(parents=True)
    return found


def chosen(workspace: Workspace) -> lakefs_server.LakefsServer:
    lakefs_server.choose(workspace.directory)
    server = lakefs_server.of_twin(workspace.directory)
    assert server is not None
    return server


def test_a_twin_has_an_empty_server_of_its_own_that_no_proxy_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAKEFS_ENDPOINT", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, PROXY)
    lakefs_server.choose(tmp_path)
    with lakefs_server.served(tmp_path) as server:
        assert server.endpoint.startswith("http://127.0.0.1:")
        assert lakefs_server.of_twin(tmp_path) == server
        assert lakefs_held.read(server, KEYS) is None, "nobody has set it up yet"
        lakefs = server.client(KEYS)
        setup = lakefs.api.internal_api.setup
        lakefs.ask("set it up", setup, {"username": "admin", "key": KEYS})
        held = lakefs_held.read(server, KEYS)
        assert held == lakefs_held.LakefsHeld(endpoint=None, user="admin", repositories=())
        with pytest.raises(RehearsalError, match="HTTP 401"):
            lakefs_held.read(server, {**KEYS, "secret_access_key": "guessed"})


def test_what_a_twin_makes_on_a_named_server_is_read_and_goes_with_it_and_nothing_else(
    named: FakeLakefs, workspace: Workspace
) -> None:
    server = chosen(workspace)
    given = {"name": "ticks", "storage_namespace": "s3://bucket/ticks", "endpoint": "https://x"}
    there = server.there("pulumi-python:dynamic/lakefs:Repository", given)
    own, namespace = there["name"], there["storage_namespace"]
    assert namespace == f"local://gpu-fleet-rehearsals/{own}"
    named.model.create_repository(own, namespace, "main", read_only=True)
    held = lakefs_held.read(server, {})
    assert held is not None
    assert held.endpoint == named.endpoint
    assert [each.name for each in held.repositories] == [own]
    workspace.clear_twin()
    assert set(named.model.repositories) == {"backtests"}
    assert lakefs_server.of_twin(workspace.directory) is None
    assert chosen(workspace).prefix != server.prefix


def test_the_keys_of_a_named_server_are_in_no_file(named: FakeLakefs, workspace: Workspace) -> None:
    chosen(workspace)
    texts = [path.read_text() for path in workspace.directory.rglob("*") if path.is_file()]
    assert any(named.endpoint in text for text in texts)
    assert not any("hunter2" in text for text in texts)


def test_a_rehearsal_begins_only_when_what_an_earlier_one_left_is_gone(
    named: FakeLakefs, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = f"{chosen(workspace).prefix}ticks"
    named.model.create_repository(own, "local://own", "main", read_only=False)
    monkeypatch.delenv("LAKEFS_SECRET_ACCESS_KEY")
    left = r"Repositories rehearsal-\w{8}-\* may be left .* set LAKEFS_SECRET_ACCESS_KEY in the"
    with workspace.held(), pytest.raises(RehearsalError, match=left):
        workspace.begin()
    assert own in named.model.repositories
    monkeypatch.setenv("LAKEFS_SECRET_ACCESS_KEY", "hunter2")
    with workspace.held():
        workspace.begin()
    assert set(named.model.repositories) == {"backtests"}


def test_a_named_server_that_cannot_be_used_is_refused_before_anything_begins(
    named: FakeLakefs, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    named.model.initialized = False
    with pytest.raises(RehearsalError, match=r"LAKEFS_ENDPOINT: Nobody has set up lakeFS at"):
        lakefs_server.choose(workspace.directory)
    named.model.initialized = True
    monkeypatch.setenv("LAKEFS_ACCESS_KEY_ID", "of-somebody")
    with pytest.raises(RehearsalError, match=r"LAKEFS_ENDPOINT: .* check the access key id"):
        lakefs_server.choose(workspace.directory)
    monkeypatch.delenv("LAKEFS_ACCESS_KEY_ID")
    with pytest.raises(RehearsalError, match="set LAKEFS_ACCESS_KEY_ID in the environment"):
        lakefs_server.choose(workspace.directory)
    monkeypatch.setenv("LAKEFS_ENDPOINT", "lakefs.fleet.example")
    with pytest.raises(
        RehearsalError, match=r'"lakefs\.fleet\.example"; allowed: an http or https'
    ):
        lakefs_server.choose(workspace.directory)
    monkeypatch.setenv("LAKEFS_ENDPOINT", "http://ada:hunter2@lakefs.fleet.example")
    with pytest.raises(RehearsalError, match="without credentials") as refused:
        lakefs_server.choose(workspace.directory)
    assert "hunter2" not in str(refused.value)
    assert lakefs_server.of_twin(workspace.directory) is None
