"""What controllers get of their rendered chart."""

from pathlib import Path
from typing import Any, cast

import pytest

from rehearsal.api import Api
from rehearsal.charts.ownership import Owner
from rehearsal.controllers.chart_objects import ChartObjects
from rehearsal.providers.kubernetes.readiness import Discovery, ServedKind

HOOK = "ValidatingWebhookConfiguration"


class FakeApi:
    """Remembers what was applied and deleted, in the order of the requests."""

    def __init__(self) -> None:
        self.live: dict[str, Any] = {}
        self.deleted: list[str] = []

    def apply(self, path: str, body: dict[str, Any], **_options: object) -> None:
        self.live[path] = body

    def delete(self, path: str, **_options: object) -> None:
        del self.live[path]
        self.deleted.append(path)


class FakeDiscovery:
    """Serves every kind but one."""

    def find(self, api_version: str, kind: str) -> ServedKind | None:
        if api_version == "unknown/v1":
            return None
        namespaced = kind in ("ServiceAccount", "ConfigMap")
        plural = f"{kind.lower()}s"
        return ServedKind(api_version=api_version, kind=kind, plural=plural, namespaced=namespaced)


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def chart(api: FakeApi, tmp_path: Path) -> ChartObjects:
    return ChartObjects(
        api=cast("Api", api),
        kinds=cast("Discovery", FakeDiscovery()),
        owner=Owner(release="it", namespace="system"),
        record=tmp_path / "release" / "objects.json",
    )


def thing(kind: str, name: str = "it", version: str = "v1", **content: object) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}


def hook(service: str = "serve") -> dict[str, Any]:
    client = {"service": {"name": service, "namespace": "system", "path": "/judge", "port": 443}}
    return thing(HOOK, webhooks=[{"name": "judge.fleet.example", "clientConfig": client}])


def test_a_webhook_gets_the_address_at_which_its_program_serves(
    chart: ChartObjects, api: FakeApi
) -> None:
    chart.apply([hook()], {"serve": 4000})
    (made,) = api.live.values()
    assert made["webhooks"][0]["clientConfig"] == {"url": "https://127.0.0.1:4000/judge"}


def test_a_webhook_whose_program_does_not_run_is_left_out(
    chart: ChartObjects, api: FakeApi
) -> None:
    chart.apply([hook("other")], {"serve": 4000})
    assert api.live == {}


def test_accounts_and_rights_come_before_webhooks_and_pods_do_not_come(
    chart: ChartObjects, api: FakeApi
) -> None:
    chart.apply([hook(), thing("Deployment"), thing("ServiceAccount")], {"serve": 4000})
    assert [each["kind"] for each in api.live.values()] == ["ServiceAccount", HOOK]
    assert next(iter(api.live)) == "/api/v1/namespaces/system/serviceaccounts/it"


def test_another_revision_takes_away_what_it_no_longer_has(
    chart: ChartObjects, api: FakeApi
) -> None:
    chart.apply([thing("ConfigMap", "a"), thing("ConfigMap", "b")], {})
    chart.apply([thing("ConfigMap", "b")], {})
    assert [each["metadata"]["name"] for each in api.live.values()] == ["b"]


def test_webhooks_go_first_where_all_goes(chart: ChartObjects, api: FakeApi) -> None:
    chart.apply([hook(), thing("ServiceAccount")], {"serve": 4000})
    chart.delete()
    assert api.live == {}
    assert f"{HOOK.lower()}s" in api.deleted[0]
    chart.delete()


def test_a_kind_that_the_server_lacks_is_named(chart: ChartObjects) -> None:
    with pytest.raises(RuntimeError, match=r"a ConfigMap of unknown/v1, which the API server"):
        chart.apply([thing("ConfigMap", version="unknown/v1")], {})
