"""Charts from a repository and from a registry, both on this machine."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from rehearsal.charts.online import fetch
from rehearsal.charts.wanted import Found, Unreachable, Wanted
from tests.support.rehearsal.chart_store import NAME, VERSION, ChartStore, packed, serving


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChartStore]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving(ChartStore(chart=packed({"templates/a.yaml": ""}))) as served:
        yield served


def wanted(repository: str, version: str = VERSION, name: str = NAME) -> Wanted:
    return Wanted(name=name, version=version, repository=repository)


def reason(found: Found | Unreachable) -> str:
    assert isinstance(found, Unreachable)
    return found.reason


@pytest.mark.parametrize("wants_token", [False, True])
@pytest.mark.parametrize("kind", ["repository", "registry"])
def test_a_chart_is_fetched(
    store: ChartStore, tmp_path: Path, kind: str, wants_token: bool
) -> None:
    store.wants_token = wants_token
    one = wanted(getattr(store, kind))

    found = fetch([one], tmp_path)[one]

    assert isinstance(found, Found)
    assert found.path.read_bytes() == store.chart
    assert found.source == one.repository


def test_what_was_fetched_is_not_asked_for_again(store: ChartStore, tmp_path: Path) -> None:
    one = wanted(store.repository)
    first = fetch([one], tmp_path)
    store.asked.clear()

    assert fetch([one], tmp_path) == first
    assert not store.asked


def test_the_same_name_from_another_repository_is_another_chart(
    store: ChartStore, tmp_path: Path
) -> None:
    fetch([wanted(store.repository)], tmp_path)
    other = wanted(f"http://{store.address}/fork")

    assert "answers 404" in reason(fetch([other], tmp_path)[other])


@pytest.mark.parametrize("kind", ["repository", "registry"])
def test_a_chart_that_is_not_what_was_published_is_not_taken(
    store: ChartStore, tmp_path: Path, kind: str
) -> None:
    store.digest = hashlib.sha256(b"other").hexdigest()
    one = wanted(getattr(store, kind))

    assert "checksum" in reason(fetch([one], tmp_path)[one])
    assert not list(tmp_path.iterdir())


def test_a_version_that_is_not_published_is_said_by_name(store: ChartStore, tmp_path: Path) -> None:
    one, other = wanted(store.repository, "9.0.0"), wanted(store.registry, "9.0.0")

    found = fetch([one, other], tmp_path)

    assert reason(found[one]) == f"{store.repository}/index.yaml has no ours 9.0.0"
    assert reason(found[other]).endswith("/manifests/9.0.0 answers 404")


def test_an_index_that_is_none_is_a_reason(store: ChartStore, tmp_path: Path) -> None:
    packed_chart = wanted(f"http://{store.address}/charts/files/{NAME}.tgz?")
    other = wanted(store.repository, name="other")

    assert "is no index of charts" in reason(fetch([packed_chart], tmp_path)[packed_chart])
    assert "has no other 1.2.0" in reason(fetch([other], tmp_path)[other])


def test_a_host_that_does_not_answer_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def silent(_client: httpx.Client, _method: str, url: str, **_options: object) -> NoReturn:
        asked.append(url)
        raise httpx.ConnectTimeout("")

    monkeypatch.setattr(httpx.Client, "request", silent)
    charts = [wanted(f"https://charts.fleet.example/{path}") for path in "abc"]

    found = fetch(charts, tmp_path)

    told = {reason(found[each]) for each in charts}
    assert told == {"charts.fleet.example cannot be reached"}
    assert asked == ["https://charts.fleet.example/a/index.yaml"]


def test_a_chart_without_an_address_is_not_looked_for(tmp_path: Path) -> None:
    one = Wanted(name="ours", version="1.0.0")

    assert reason(fetch([one], tmp_path)[one]) == "nothing says where it is published"
