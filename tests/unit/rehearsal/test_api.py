"""The client of an API server, against answers from memory."""

import threading
from collections.abc import Callable

import httpx
import pytest

from rehearsal.api import Api, ApiServerError
from rehearsal.errors import RefusedError

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def api(answer: Callable[[httpx.Request], httpx.Response], cancelled: bool = False) -> Api:
    event = threading.Event()
    if cancelled:
        event.set()
    transport = httpx.MockTransport(answer)
    return Api(httpx.Client(base_url="https://cluster", transport=transport), event)


def refusing(status: int) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(status, json={"reason": "Because", "message": "not now"})


def test_an_object_that_is_missing_is_none_and_a_missing_list_is_empty() -> None:
    assert api(refusing(404)).get(JOBS) is None
    assert api(refusing(404)).items(JOBS) == []
    assert api(refusing(404)).delete(f"{JOBS}/a") is None


def test_an_object_whose_name_is_taken_is_not_created() -> None:
    assert not api(refusing(409)).create(JOBS, {})
    assert api(lambda _: httpx.Response(201, json={})).create(JOBS, {})


CALLS: tuple[Callable[[Api], object], ...] = (
    lambda api: api.get(JOBS),
    lambda api: api.create(JOBS, {}),
    lambda api: api.delete(JOBS),
)


@pytest.mark.parametrize("call", CALLS)
def test_any_other_error_has_the_message_and_the_code_of_the_server(
    call: Callable[[Api], object],
) -> None:
    with pytest.raises(ApiServerError) as error:
        call(api(refusing(403)))
    assert (str(error.value), error.value.status) == ("not now", 403)
    assert error.value.summary == "403 Because"


def test_a_query_is_sent_whether_it_is_in_the_path_or_given() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"items": []})

    api(answer).get(f"{JOBS}?limit=1")
    api(answer).create(f"{JOBS}?dryRun=All", {"a": 1})
    api(answer).items(JOBS, labelSelector="a=b")
    assert [str(request.url.query, "ascii") for request in sent] == [
        "limit=1",
        "dryRun=All",
        "labelSelector=a%3Db",
    ]
    assert (sent[1].content, sent[1].headers["content-type"]) == (b'{"a": 1}', "application/json")


def test_a_busy_server_is_asked_again() -> None:
    busy = httpx.Response(429, headers={"Retry-After": "0"})
    answers = iter([busy, httpx.Response(200, json={"kind": "JobList", "items": [{"a": 1}]})])
    assert api(lambda _: next(answers)).items(JOBS) == [{"a": 1}]


def test_a_cancelled_wait_for_a_busy_server_is_refused() -> None:
    busy = httpx.Response(429, headers={"Retry-After": "60"})
    with pytest.raises(RefusedError, match="Cancelled while waiting for the API server"):
        api(lambda _: busy, cancelled=True).get(JOBS)


def test_a_server_that_cannot_be_reached_is_a_sentence() -> None:
    def fails(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("hunter2", request=request)

    with pytest.raises(RefusedError) as error:
        api(fails).get(JOBS)
    assert str(error.value) == "The API server https://cluster cannot be reached: ConnectError."
    assert api(fails).ready() == "hunter2"


def test_a_server_that_is_not_ready_says_what_it_waits_for() -> None:
    assert api(lambda _: httpx.Response(500, text="etcd failed\n")).ready() == "etcd failed"
    assert api(lambda _: httpx.Response(200, text="ok")).ready() is None
