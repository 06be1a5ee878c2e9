"""Property values as the engine sends them: plain data, unknowns, secrets and assets.

The engine marks the last three inside a protobuf Struct with constants (Pulumi's
`sdk/go/common/resource/plugin/rpc.go`); here they are classes. Whole numbers become `int`, so that
JSON made from them has 3 and not 3.0.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from google.protobuf.struct_pb2 import (  # type: ignore[import-untyped]  # protobuf ships none
    ListValue,
    NullValue,
    Struct,
)
from google.protobuf.struct_pb2 import Value as ProtoValue

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  # not a password
ASSET_SIGNATURES: Final = frozenset(
    {"c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7"}
)
UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
UNKNOWN_TEXTS: Final = frozenset(
    {
        UNKNOWN_TEXT,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)


@dataclass(frozen=True)
class Unknown:
    """A value that a preview does not know."""


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value that must not be shown; `repr` does not show it."""

    value: "Value" = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A file or an archive as input; `hash` is the engine's SHA-256 of its contents."""

    signature: str
    hash: str
    text: str | None = field(default=None, repr=False)
    path: str | None = None
    uri: str | None = None


Value: TypeAlias = (
    "bool | int | float | str | list[Value] | dict[str, Value] | Unknown | Secret | Asset | None"
)
Properties: TypeAlias = dict[str, Value]


def decode(properties: Struct) -> Properties:
    """The properties of a request."""
    return {key: _decode(value) for key, value in properties.fields.items()}


def _decode(value: ProtoValue) -> Value:
    match value.WhichOneof("kind"):
        case "bool_value":
            return bool(value.bool_value)
        case "number_value":
            number: float = value.number_value
            return int(number) if number.is_integer() else number
        case "string_value":
            text = str(value.string_value)
            return UNKNOWN if text in UNKNOWN_TEXTS else text
        case "list_value":
            return [_decode(item) for item in value.list_value.values]
        case "struct_value":
            return _special(decode(value.struct_value))
        case _:
            return None


def _special(values: Properties) -> Value:
    signature = values.get(SIGNATURE)
    if signature == SECRET_SIGNATURE:
        return Secret(values.get("value"))
    if isinstance(signature, str) and signature in ASSET_SIGNATURES:
        return Asset(
            signature=signature,
            hash=str(values.get("hash", "")),
            text=_text(values.get("text")),
            path=_text(values.get("path")),
            uri=_text(values.get("uri")),
        )
    return values


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def encode(properties: Mapping[str, Value]) -> Struct:
    """The properties of a response."""
    return Struct(fields={key: _encode(value) for key, value in properties.items()})


def _encode(value: Value) -> ProtoValue:
    match value:
        case list():
            return ProtoValue(list_value=ListValue(values=[_encode(item) for item in value]))
        case dict():
            return ProtoValue(struct_value=encode(value))
        case Unknown():
            return ProtoValue(string_value=UNKNOWN_TEXT)
        case Secret():
            return _encode({SIGNATURE: SECRET_SIGNATURE, "value": value.value})
        case Asset():
            return _encode(_asset(value))
        case _:
            return _encode_scalar(value)


def _encode_scalar(value: bool | float | str | None) -> ProtoValue:
    if value is None:
        return ProtoValue(null_value=NullValue.NULL_VALUE)
    if isinstance(value, bool):
        return ProtoValue(bool_value=value)
    if isinstance(value, str):
        return ProtoValue(string_value=value)
    return ProtoValue(number_value=value)


def _asset(asset: Asset) -> Properties:
    contents: Properties = {
        key: value
        for key, value in {"text": asset.text, "path": asset.path, "uri": asset.uri}.items()
        if value is not None
    }
    return {SIGNATURE: asset.signature, "hash": asset.hash, **contents}


def plain(value: Value) -> Value:
    """The value with its secrets as clear values."""
    match value:
        case Secret():
            return plain(value.value)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value


def plain_properties(properties: Mapping[str, Value]) -> Properties:
    """`plain` for a set of properties."""
    return {key: plain(value) for key, value in properties.items()}


def has_secret(value: Value) -> bool:
    """Returns whether the value is a secret or contains one."""
    return any(isinstance(item, Secret) for item in walk(value))


def has_unknown(value: Value) -> bool:
    """Returns whether the value is unknown or contains an unknown."""
    return any(isinstance(item, Unknown) for item in walk(value))


def walk(value: Value) -> Iterator[Value]:
    """Yields the value and everything inside it."""
    yield value
    match value:
        case Secret():
            yield from walk(value.value)
        case list():
            for item in value:
                yield from walk(item)
        case dict():
            for item in value.values():
                yield from walk(item)


def shown(value: Value) -> str:
    """The value as text for a sentence: cut at 80 characters, without secrets."""
    if has_secret(value):
        return "a secret value"
    match value:
        case str():
            return f'"{value}"' if len(value) <= 80 else f'"{value[:77]}..."'
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"an object with {', '.join(value)}" if value else "an empty object"
        case Unknown() | Asset():
            return "a file" if isinstance(value, Asset) else "a value not known yet"
        case _:
            return json.dumps(value)
