"""The form that boot data takes in user data of a limited size, at each side of each limit."""

import json
from typing import Any

import pytest

from ignition.boot.config import load_resource
from ignition.write import payload
from ignition.write.payload import Merge, Payload, PayloadError, fit, size

JOIN = Merge(source="s3://bucket/join.ign", sha512="a" * 128)
STORE = "s3://bucket/plain.ign"


def configuration(filling: str) -> str:
    files = [{"path": "/etc/filling", "contents": {"source": f"data:,{filling}"}}]
    return json.dumps(
        {"ignition": {"version": "3.4.0"}, "storage": {"files": files}}, separators=(",", ":")
    )


def of_size(bytes_long: int) -> str:
    """A configuration whose user data with the join part is exactly that long."""
    frame = size(payload.merged(configuration(""), (JOIN,)))
    text = configuration("ä" + "x" * (bytes_long - frame - 2))  # bytes, not characters, are counted
    assert size(payload.merged(text, (JOIN,))) == bytes_long
    return text


def merges(made: Payload) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(made.user_data)["ignition"]["config"]["merge"]
    return found


@pytest.mark.parametrize("limit", [payload.EC2_LIMIT_BYTES, payload.HETZNER_LIMIT_BYTES])
@pytest.mark.parametrize(("over", "whole"), [(-1, True), (0, True), (1, False)])
def test_user_data_stays_whole_up_to_the_limit(limit: int, over: int, whole: bool) -> None:
    made = fit(of_size(limit + over), (JOIN,), limit_bytes=limit, store=STORE)
    assert ("storage" in json.loads(made.user_data)) is whole
    assert size(made.user_data) <= limit


def test_with_a_store_what_is_too_long_lies_there_as_it_is() -> None:
    plain = of_size(16385)
    made = fit(plain, (JOIN,), limit_bytes=16384, store=STORE)
    first, second = merges(made)
    assert made.stored == plain
    assert second == JOIN.entry()
    assert first["source"] == STORE
    assert first["verification"]["hash"] == f"sha512-{payload.sha512(plain)}"
    assert load_resource(first, {STORE: plain.encode()}.__getitem__).decode() == plain


def test_without_a_store_what_is_too_long_is_refused_with_the_sizes() -> None:
    with pytest.raises(PayloadError) as caught:
        fit(of_size(16385), (JOIN,), limit_bytes=16384)
    assert str(caught.value) == (
        "the boot data has 16385 bytes, and there is no object store for what is longer than the "
        "user data; allowed: 16384 bytes"
    )


def test_a_pointer_that_is_itself_too_long_is_refused_with_the_sizes() -> None:
    plain = configuration("x" * 1000)
    pointer = size(fit(plain, (JOIN,), limit_bytes=1000, store=STORE).user_data)
    assert fit(plain, (JOIN,), limit_bytes=pointer, store=STORE).stored == plain
    with pytest.raises(PayloadError, match=rf"{pointer} bytes as a pointer to s3://bucket/plain"):
        fit(plain, (JOIN,), limit_bytes=pointer - 1, store=STORE)


def test_no_limit_leaves_everything_whole() -> None:
    plain = configuration("x" * 100_000)
    made = fit(plain, (JOIN,), limit_bytes=None)
    assert made == Payload(user_data=payload.merged(plain, (JOIN,)))


def test_the_pointer_has_the_version_of_the_configuration() -> None:
    plain = configuration("x" * 1000).replace("3.4.0", "3.3.0")
    made = fit(plain, (), limit_bytes=600, store=STORE)
    assert json.loads(made.user_data)["ignition"]["version"] == "3.3.0"
