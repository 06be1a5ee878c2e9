"""What a state, the simulated clouds and the cluster hold, compared thing by thing."""

from pathlib import Path
from typing import Any, cast

import pytest

from rehearsal.accounting import LAKEFS, REPOSITORY, compare, hanging
from rehearsal.api import Api
from rehearsal.providers.cloud import Cloud, CloudObject
from settings.names import RELEASE, SERVER

URN = "urn:pulumi:dev::gpu-fleet::"
SECRET = "kubernetes:core/v1:Secret"
OURS = [{"manager": "pulumi-kubernetes"}]


class Cluster:
    """An API server with Secrets and what is in them, and one kind that cannot be listed."""

    def __init__(self, **metadata: Any) -> None:
        self.metadata = metadata

    def get(self, path: str) -> dict[str, Any]:
        if path == "/apis":
            return {"groups": []}
        secrets = {"name": "secrets", "kind": "Secret", "verbs": ["list"]}
        review = {"name": "reviews", "kind": "Review", "verbs": ["create"]}
        return {"resources": [secrets, review, {**secrets, "name": "secrets/status"}]}

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/secrets"
        return [{"metadata": {"name": "a", "namespace": "b", "uid": "1", **self.metadata}}]


def api(**metadata: Any) -> Api:
    return cast("Api", Cluster(**metadata))


def owned(type_: str, name: str, id_: str, **inputs: Any) -> dict[str, Any]:
    urn = f"{URN}{type_}::{name}"
    return {"urn": urn, "type": type_, "custom": True, "id": id_, "inputs": inputs}


STATE = [
    {"urn": f"{URN}gpu:pools:HetznerPool::cpu", "type": "gpu:pools:HetznerPool"},
    owned("pulumi:providers:hcloud", "hetzner", "1a2b"),
    owned(SERVER, "cpu-1", "1"),
    owned(RELEASE, "volcano-release", "volcano-system/volcano"),
    owned(REPOSITORY, "ticks-repository", "ticks"),
    owned(f"{LAKEFS}Action", "ticks-check", "no id of lakeFS"),
    owned(SECRET, "key", "b/a", kind="Secret"),
]


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    made = Cloud(tmp_path)
    put(made, SERVER, "1", "cpu-1")
    put(made, RELEASE, "volcano-system/volcano", "volcano-release")
    return made


def put(cloud: Cloud, type_: str, id_: str, name: str) -> None:
    thing = CloudObject(provider="p", type=type_, id=id_, name=name, inputs={}, outputs={})
    cloud.put(thing)


def test_a_state_that_is_right_leaves_nothing_over(cloud: Cloud) -> None:
    found = compare(STATE, cloud.directory, api(managedFields=OURS), ["ticks"])
    assert (found.doubled, found.orphaned, found.missing) == ((), (), ())


def test_a_second_thing_of_a_name_is_doubled_and_another_is_an_orphan(cloud: Cloud) -> None:
    put(cloud, SERVER, "2", "cpu-1")
    put(cloud, SERVER, "3", "cpu-9")
    found = compare(STATE[:-1], cloud.directory, api(managedFields=OURS), ["ticks", "old"])
    assert found.doubled == ("Server cpu-1",)
    assert found.orphaned == ("Server cpu-9", "Secret b/a", "Repository old")


def test_what_only_the_state_knows_is_missing(cloud: Cloud) -> None:
    cloud.remove(SERVER, "1")
    state = [*STATE, owned(SECRET, "other", "b/other", kind="Secret")]
    found = compare(state, cloud.directory, api(managedFields=[{"manager": "helm"}]), [])
    assert found.missing == ("Server cpu-1", "Repository ticks-repository", "Secret other")


def test_an_object_hangs_while_it_is_being_deleted_and_a_finalizer_holds_it() -> None:
    deleted = {"deletionTimestamp": "2026-11-23T18:00:00Z"}
    assert [*hanging(api(**deleted, finalizers=["x/y"]))] == ["Secret b/a (x/y)"]
    assert [*hanging(api(**deleted))] == []
    assert [*hanging(api(finalizers=["x/y"]))] == []
