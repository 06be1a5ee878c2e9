"""The client: one sentence per error, keys in none of them, repeats only where they are safe."""

import pytest

from lakefs.client import LakefsClient
from lakefs.errors import LakefsError
from lakefs.fake.model import AnswerError
from lakefs.fake.server import FakeLakefs
from tests.support.backtests import put
from tests.support.lakefs_ground import ACCESS_KEY, SECRET_KEY, Ground, on_fake


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated request comes at once."""
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _seconds: None)


def busy() -> None:
    raise AnswerError(503, "slow down")


def test_wrong_keys_are_one_sentence_that_does_not_show_them(ground: Ground) -> None:
    stranger = LakefsClient(ground.endpoint, "AKIANOBODY", "no-such-key")
    with pytest.raises(LakefsError) as error:
        stranger.ask("show the user", stranger.api.auth_api.get_current_user)
    assert "check the access key id and the secret access key (HTTP 401)" in str(error.value)
    assert error.value.status == 401
    assert "no-such-key" not in f"{error.value} {error.value!r} {stranger!r}"


@pytest.mark.parametrize(
    "endpoint", ["lakefs.example", "ftp://lakefs.example", "https://user:pass@lakefs.example"]
)
def test_an_endpoint_that_is_no_address_is_refused_without_being_shown(endpoint: str) -> None:
    with pytest.raises(LakefsError, match="must be an http or https address") as error:
        LakefsClient(endpoint, ACCESS_KEY, SECRET_KEY)
    assert "pass" not in str(error.value)


def test_a_server_that_is_away_is_one_sentence() -> None:
    nobody = LakefsClient("http://127.0.0.1:1", ACCESS_KEY, SECRET_KEY)
    with pytest.raises(LakefsError) as error:
        nobody.ask("show the user", nobody.api.auth_api.get_current_user)
    assert str(error.value) == (
        "lakeFS at http://127.0.0.1:1 gave no answer when asked to show the user: "
        "no connection came about."
    )
    assert error.value.outcome_is_unknown


def test_a_name_without_an_address_is_told_in_words() -> None:
    nobody = LakefsClient("http://lakefs.invalid", ACCESS_KEY, SECRET_KEY)
    with pytest.raises(LakefsError, match=r"asked to show the user: its name has no address\.$"):
        nobody.ask("show the user", nobody.api.auth_api.get_current_user)


def test_reading_is_repeated_while_the_server_is_busy(fake: FakeLakefs) -> None:
    lakefs = on_fake(fake).lakefs
    fake.once("GET", "/user", busy)
    fake.once("GET", "/user", busy)
    assert lakefs.ask("show the user", lakefs.api.auth_api.get_current_user)
    assert fake.count("GET", "/user") == 3


def test_a_change_is_never_repeated_by_itself(fake: FakeLakefs) -> None:
    repository = on_fake(fake).new_repository()
    fake.once("POST", "/objects", busy)
    with pytest.raises(LakefsError, match="slow down"):
        repository.upload("main", "prices", b"1")
    assert fake.count("POST", "/objects") == 1


def test_a_listing_goes_on_to_its_last_page(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakefs.client.PAGE_ITEMS", 5)
    repository = ground.new_repository()
    paths = [f"p{number:04d}" for number in range(12)]
    head = put(repository, "main", **dict.fromkeys(paths, b"x"))
    lakefs = repository.lakefs
    first = lakefs.ask("list", lakefs.api.objects_api.list_objects, repository.name, head, amount=5)
    assert first.pagination.has_more
    assert first.pagination.next_offset == "p0004"
    assert list(repository.paths(head)) == paths
