"""Which form boot data takes in user data of a limited size, at each side of each limit."""

import gzip
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from ignition.boot.sources import load
from ignition.write import payload
from ignition.write.deflate import compress
from ignition.write.payload import Merge, Payload, PayloadError, fit, size

JOIN = Merge(source="s3://bucket/join.ign", sha512="a" * 128)
STORE = "s3://bucket/plain.ign"


def configuration(filling: str) -> str:
    files = [{"path": "/etc/filling", "contents": {"source": f"data:,{filling}"}}]
    return json.dumps(
        {"ignition": {"version": "3.4.0"}, "storage": {"files": files}}, separators=(",", ":")
    )


def noise(length: int) -> str:
    """Text that hardly compresses."""
    return hashlib.shake_256(b"noise").hexdigest(length)[:length]


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
@pytest.mark.parametrize("store", [None, STORE])
@pytest.mark.parametrize(("over", "whole"), [(-1, True), (0, True), (1, False)])
def test_user_data_stays_whole_up_to_the_limit(
    limit: int, store: str | None, over: int, whole: bool
) -> None:
    made = fit(of_size(limit + over), (JOIN,), limit_bytes=limit, store=store)
    assert ("storage" in json.loads(made.user_data)) is whole
    assert size(made.user_data) <= limit


def test_without_a_store_what_is_too_long_is_compressed_in_the_user_data() -> None:
    plain = of_size(16385)
    made = fit(plain, (JOIN,), limit_bytes=16384)
    first, second = merges(made)
    assert made.stored is None
    assert second == JOIN.entry()
    assert first["compression"] == "gzip"
    # Ignition takes the hash over what is decompressed; the judge does as Ignition does
    assert first["verification"]["hash"] == f"sha512-{hashlib.sha512(plain.encode()).hexdigest()}"
    assert load(first, None).decode() == plain


def test_with_a_store_what_is_too_long_lies_there_as_it_is() -> None:
    plain = of_size(16385)
    made = fit(plain, (JOIN,), limit_bytes=16384, store=STORE)
    first, second = merges(made)
    assert made.stored == plain
    assert second == JOIN.entry()
    assert (first["source"], first.get("compression")) == (STORE, None), "S3 takes no compression"
    assert load(first, {STORE: plain.encode()}.__getitem__).decode() == plain


def test_the_compressed_form_is_taken_up_to_the_limit_and_refused_above_it() -> None:
    plain = configuration(noise(5000) * 4)
    longest = size(fit(plain, (JOIN,), limit_bytes=size(plain)).user_data)
    assert longest < size(plain)
    assert size(fit(plain, (JOIN,), limit_bytes=longest).user_data) == longest
    assert size(fit(plain, (JOIN,), limit_bytes=longest + 1).user_data) == longest
    with pytest.raises(PayloadError) as caught:
        fit(plain, (JOIN,), limit_bytes=longest - 1)
    whole = size(payload.merged(plain, (JOIN,)))
    assert str(caught.value) == (
        f"the boot data has {whole} bytes, and {longest} bytes compressed; there is no object "
        f"store for what is longer; allowed: {longest - 1} bytes"
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
    made = fit(plain, (), limit_bytes=600)
    assert json.loads(made.user_data)["ignition"]["version"] == "3.3.0"


TEXTS = [
    "",
    "a",
    "ab" * 3,
    "x" * 100_000,
    noise(5000),
    noise(40_000) * 2,  # matches that lie further back than the window
    "ä☃" * 700 + "\u0000\u007f",
    json.dumps([{"path": f"/etc/{n}", "mode": n % 7} for n in range(500)]),
]


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_compressed_text_comes_back_as_it_was(number: int) -> None:
    packed = compress(TEXTS[number])
    assert gzip.decompress(packed).decode() == TEXTS[number]
    assert zlib.decompress(packed, wbits=31).decode() == TEXTS[number]


def test_compression_is_worth_its_name() -> None:
    text = (Path(__file__).parent / "golden" / "dgx-h200.bu").read_text()
    assert len(compress(text)) < 1.3 * len(gzip.compress(text.encode(), 9))


def test_compressed_bytes_do_not_depend_on_the_machine() -> None:
    digest = hashlib.sha256(compress(TEXTS[-1])).hexdigest()
    assert digest == "3ab498cb6f38971e7cab65c7a2db0e9536aad7fdd1d6d401c2cc5251091a2ea6"
