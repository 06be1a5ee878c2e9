"""Values between the engine's protobuf and plain data."""

import pytest
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]  # ships no types

from rehearsal.providers.difference import join
from rehearsal.providers.kubernetes.state import same_quantity
from rehearsal.providers.secrets import conceal
from rehearsal.providers.values import (
    ASSET_SIGNATURES,
    UNKNOWN,
    UNKNOWN_TEXTS,
    Asset,
    Properties,
    Secret,
    Value,
    decode,
    encode,
    has_unknown,
    plain,
    shown,
)


def test_values_survive_the_way_to_the_engine_and_back() -> None:
    properties: Properties = {
        "text": "a",
        "whole": 3,
        "part": 1.5,
        "yes": True,
        "nothing": None,
        "list": [1, "b", [UNKNOWN]],
        "object": {"deep": Secret({"deeper": UNKNOWN})},
        "file": Asset(signature=min(ASSET_SIGNATURES), hash="abc", text="contents"),
    }
    assert decode(encode(properties)) == properties


def test_whole_numbers_are_integers() -> None:
    struct = Struct()
    struct.update({"replicas": 3.0})
    assert repr(decode(struct)["replicas"]) == "3"


@pytest.mark.parametrize("text", sorted(UNKNOWN_TEXTS))
def test_every_kind_of_unknown_is_known_as_one(text: str) -> None:
    struct = Struct()
    struct.update({"id": text})
    assert decode(struct) == {"id": UNKNOWN}


def test_an_unknown_is_found_however_deep() -> None:
    assert has_unknown({"a": [{"b": Secret(UNKNOWN)}]})
    assert not has_unknown({"a": [{"b": Secret("c")}]})


def test_a_secret_is_never_shown() -> None:
    assert "hunter2" not in repr(Secret("hunter2"))
    assert shown(["a", Secret("hunter2")]) == "a secret value"


@pytest.mark.parametrize(
    ("value", "like", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": Secret(1)}, {"a": Secret(1), "b": 2}),
        ([1, 2], [1, Secret(2)], [1, Secret(2)]),
        ([1, 2, 3], [1, Secret(2)], Secret([1, 2, 3])),
        ("digest", Secret("long"), Secret("digest")),
        ({"a": 1}, {"a": 1}, {"a": 1}),
    ],
)
def test_outputs_are_as_secret_as_inputs(value: Value, like: Value, expected: Value) -> None:
    assert conceal(value, like) == expected
    assert plain(conceal(value, like)) == value


@pytest.mark.parametrize(
    ("key", "path"),
    [("b", "a.b"), (0, "a[0]"), ("fleet.gpu/pool", 'a["fleet.gpu/pool"]'), ('"', 'a["\\""]')],
)
def test_paths_are_in_pulumis_syntax(key: str | int, path: str) -> None:
    assert join("a", key) == path


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("1000m", 1, True),
        ("1Gi", "1024Mi", True),
        ("1e3", "1k", True),
        ("1G", "1Gi", False),
        ("a", "a", False),
        (True, 1, False),
    ],
)
def test_quantities_are_compared_by_amount(first: Value, second: Value, same: bool) -> None:
    assert same_quantity(first, second) is same
