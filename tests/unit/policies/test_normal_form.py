"""What the engine hands over, as the rules read it. The proxies are the SDK's own."""

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import struct_pb2  # type: ignore[import-untyped]  # ships no types
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.gates.normal_form import from_wire, plain
from policies.gates.unknown import NotKnownYet
from policies.language.manifest import EncryptedText


def handed_over(props: dict[str, Any]) -> dict[str, Any]:
    result = plain(unknown_checking_proxy(props))
    assert isinstance(result, dict)
    return result


def test_proxies_become_plain_dicts_and_lists() -> None:
    result = handed_over({"spec": {"taints": [{"key": "a"}], "ready": True, "none": None}})

    assert result == {"spec": {"taints": [{"key": "a"}], "ready": True, "none": None}}
    assert type(result["spec"]) is dict
    assert type(result["spec"]["taints"]) is list


def test_whole_numbers_become_integers_again_and_others_stay() -> None:
    result = handed_over({"gpus": 16.0, "ratio": 0.5, "list": [2.0], "huge": 1e300})

    assert [type(result[key]) for key in ("gpus", "ratio", "huge")] == [int, float, int]
    assert result["list"] == [2]
    assert type(result["list"][0]) is int


def test_an_unknown_is_harmless_until_a_rule_looks_at_it() -> None:
    result = handed_over({"spec": {"a": UNKNOWN_STRING_VALUE, "b": [1.0, UNKNOWN_STRING_VALUE]}})

    assert list(result["spec"]) == ["a", "b"]
    assert len(result["spec"]["b"]) == 2
    assert result["spec"]["b"][0] == 1


@pytest.mark.parametrize(
    "look",
    [
        lambda value: value == "x",
        lambda value: value in ("x", "y"),
        lambda value: value != 3,
        lambda value: value < 3,
        lambda value: isinstance(value, str),
        lambda value: isinstance(value, dict),
        bool,
        str,
        lambda value: f"{value}",
        lambda value: f"{value!r}",
        list,
        len,
        lambda value: value["key"],
        lambda value: value.get("key"),
        lambda value: {value: 1},
        int,
    ],
)
def test_every_look_at_an_unknown_names_its_path(look: Callable[[Any], object]) -> None:
    unknown = handed_over({"spec": {"taints": [{"key": UNKNOWN_STRING_VALUE}]}})

    with pytest.raises(NotKnownYet) as raised:
        look(unknown["spec"]["taints"][0]["key"])

    assert raised.value.path == "spec.taints[0].key"


def test_secret_values_are_marked_and_read() -> None:
    hidden = {
        SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG,
        "value": {"token": "a", "list": ["b", UNKNOWN_STRING_VALUE]},
    }
    sent = struct_pb2.Struct()
    sent.update({"secret": hidden, "plain": "a"})

    result: Any = from_wire(sent)

    assert result["secret"]["token"] == "a"
    for text in (result["secret"]["token"], result["secret"]["list"][0]):
        assert isinstance(text, EncryptedText)
    assert not isinstance(result["plain"], EncryptedText)
    with pytest.raises(NotKnownYet):
        str(result["secret"]["list"][1])
