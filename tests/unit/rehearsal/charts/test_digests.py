"""The digests of images, from a registry on this machine, and the lock file that gets them."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from rehearsal.charts import lock
from rehearsal.charts.digests import ITS_REGISTRY, MANIFESTS, Told, tell
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.report import Report
from tests.support.rehearsal.chart_store import NAME, ChartStore, packed, serving

ONE = f"sha256:{'1' * 64}"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChartStore]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving(ChartStore(chart=packed({}))) as served:
        yield served


@pytest.mark.parametrize("wants_token", [False, True])
def test_a_registry_tells_the_digest_of_a_tag(store: ChartStore, wants_token: bool) -> None:
    store.wants_token = wants_token

    assert tell([store.image]) == Told(digests={store.image: store.manifest_digest}, unknown={})


def test_a_tag_that_a_registry_does_not_have_is_a_reason(store: ChartStore) -> None:
    image = f"{store.address}/charts/{NAME}:9"

    told = tell([image])

    url = f"http://{store.address}/v2/charts/{NAME}/manifests/9"
    assert told == Told(digests={}, unknown={image: f"{url} answers 404"})


def test_what_a_registry_tells_must_be_a_digest(store: ChartStore) -> None:
    store.told_digest = "latest"

    assert tell([store.image]).unknown == {store.image: f"{store.address} tells no digest of it"}


def test_a_registry_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def silent(_client: httpx.Client, method: str, url: str, **_options: object) -> NoReturn:
        asked.append((method, url))
        raise httpx.ConnectTimeout("")

    monkeypatch.setattr(httpx.Client, "request", silent)

    told = tell(["a.example/x:1", "a.example/y"])

    assert {*told.unknown.values()} == {"a.example cannot be reached"}
    assert asked == [("HEAD", "https://a.example/v2/x/manifests/1")]


@pytest.mark.parametrize(
    ("image", "path"),
    [
        ("python:3.12", "/v2/library/python/manifests/3.12"),
        ("docker.io/volcanosh/vc-scheduler:v1", "/v2/volcanosh/vc-scheduler/manifests/v1"),
        ("volcanosh/vc-scheduler", "/v2/volcanosh/vc-scheduler/manifests/latest"),
    ],
)
def test_an_image_without_a_host_is_on_docker_hub(
    monkeypatch: pytest.MonkeyPatch, image: str, path: str
) -> None:
    def told(_client: httpx.Client, method: str, url: str, **options: object) -> httpx.Response:
        assert url == f"https://{ITS_REGISTRY}{path}"
        assert options["headers"] == {"Accept": ", ".join(MANIFESTS)}
        return httpx.Response(200, headers={"Docker-Content-Digest": ONE})

    monkeypatch.setattr(httpx.Client, "request", told)

    assert tell([image]).digests == {image: ONE}


def test_a_lock_has_what_registries_told_and_keeps_what_it_had(
    store: ChartStore, tmp_path: Path
) -> None:
    (tmp_path / "stacks").mkdir()
    away = f"{store.address}/charts/{NAME}:9"
    kept = "a.example/kept:1"
    chart = RenderedChart(
        name="a", chart="ours", version="1", source="here", images=(store.image, away, kept)
    )
    report = Report(environment="dev", charts=Charts(rendered=(chart,)))
    lock.write(tmp_path, report, {kept: ONE})

    asked = lock.without_digest(tmp_path, report)
    file = lock.write(tmp_path, report, tell(asked).digests)

    assert asked == [store.image, away]
    digests = {store.image: store.manifest_digest, away: None, kept: ONE}
    assert lock.read(file) == {"ours 1": digests}
