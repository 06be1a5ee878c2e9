"""From what the engine hands to a policy to the plain manifest that the rules read.

The engine gives proxies that are neither dict nor JSON, and every number as a float. A value that
it does not know yet becomes a leaf that raises `NotKnownYet` as soon as a rule looks at it, so that
a rule is held up by the unknowns that it reads and by no others.
"""

from collections.abc import Mapping, Sequence

from google.protobuf.struct_pb2 import Struct, Value  # type: ignore[import-untyped]  # ships no types
from pulumi_policy import proxy
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG as SECRET
from pulumi_policy.deserialize import SPECIAL_SIG_KEY as SIGNATURE
from pulumi_policy.proxy import UnknownValueError

from policies.gates.unknown import Unknown
from policies.language.manifest import EncryptedText

UNKNOWN = frozenset(
    (
        proxy.UNKNOWN_BOOLEAN_VALUE,
        proxy.UNKNOWN_NUMBER_VALUE,
        proxy.UNKNOWN_STRING_VALUE,
        proxy.UNKNOWN_ARRAY_VALUE,
        proxy.UNKNOWN_ASSET_VALUE,
        proxy.UNKNOWN_ARCHIVE_VALUE,
        proxy.UNKNOWN_OBJECT_VALUE,
    )
)


class Plain(dict[str, object]):
    """A mapping in normal form."""


def from_wire(properties: Struct) -> Plain:
    """Returns properties as the engine sends them in normal form, unknown leaves included.

    The same as `plain` of what the SDK makes of them, without the two copies in between.
    """
    fields = properties.fields
    return Plain((key, _read(fields[key], key)) for key in fields)


def _read(value: Value, path: str) -> object:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return Unknown(path) if text in UNKNOWN else text
    if kind == "struct_value":
        fields = value.struct_value.fields
        if SIGNATURE in fields:
            return _special(fields, path)
        return {key: _read(fields[key], f"{path}.{key}") for key in fields}
    if kind == "list_value":
        members = value.list_value.values
        return [_read(member, f"{path}[{index}]") for index, member in enumerate(members)]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return value.bool_value if kind == "bool_value" else None


def _special(fields: Mapping[str, Value], path: str) -> object:
    """Return a secret as its value with a mark, and an asset or archive as its source."""
    if fields[SIGNATURE].string_value == SECRET:
        return _hidden(_read(fields["value"], path))
    return {key: _read(fields[key], f"{path}.{key}") for key in fields if key != SIGNATURE}


def _hidden(value: object) -> object:
    """A value whose texts have the mark; one that is not known yet has none."""
    if type(value) is str:
        return EncryptedText(value)
    if type(value) is dict:
        return {key: _hidden(part) for key, part in value.items()}
    if type(value) is list:
        return [_hidden(part) for part in value]
    return value


def plain(value: object, path: str = "") -> object:
    """Returns plain dicts, lists and scalars: whole numbers as `int`, unknown leaves that raise."""
    if type(value) is Plain:
        return value
    if isinstance(value, Mapping):
        return {str(key): _member(value, key, f"{path}.{key}") for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_member(value, index, f"{path}[{index}]") for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _member(container: object, key: object, path: str) -> object:
    try:
        member = container[key]  # type: ignore[index]  # a mapping or a sequence, both of proxies
    except UnknownValueError:
        return Unknown(path.removeprefix("."))
    return plain(member, path)
