"""Compares what the program registers of two versions, as steps of an engine.

Nothing is asked of a provider. So of servers and machines it is known what happens to them, and of
other resources that they change, but not if in place or by a replacement.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value  # type: ignore[import-untyped]  # ships no types
from pulumi_policy.deserialize import SPECIAL_SIG_KEY as SIGNATURE

from fleet.preview.steps import Inputs, Op, Step
from fleet.validate.program import Program, Registered
from policies.gates.normal_form import UNKNOWN
from policies.language.manifest import at
from settings.names import BOOT_LABEL, SERVER

PROVIDERS = "pulumi:providers:"
# willReplaceOnChanges of hcloud:index/server:Server in pulumi-hcloud 1.43, provider/cmd/
# pulumi-resource-hcloud/schema.json, beside userData, and what no server has here
_FORCING = ("image", "location")
_SECRET_VALUE = "value"  # noqa: S105  # the key below which the wire has one


def steps_between(before: Program | None, after: Program) -> dict[str, Step]:
    """Return a step for each resource of two programs by URN, without providers."""
    old, new = _by_urn(before), _by_urn(after)
    inputs = {
        urn: (_inputs(old.get(urn)), _inputs(new.get(urn))) for urn in dict.fromkeys([*old, *new])
    }
    return {urn: _step(urn, new.get(urn) or old[urn], inputs) for urn in inputs}


def uncertain(steps: Mapping[str, Step]) -> tuple[str, ...]:
    """Return the resources that look the same and have a value that only a cloud knows."""
    return tuple(urn for urn, step in steps.items() if step.op == "same" and _waits(step.new or {}))


def _by_urn(program: Program | None) -> dict[str, Registered]:
    registered = () if program is None else program.resources
    return {each.resource.urn: each for each in registered if not each.type.startswith(PROVIDERS)}


def _step(
    urn: str, known: Registered, inputs: Mapping[str, tuple[Inputs | None, Inputs | None]]
) -> Step:
    old, new = inputs[urn]
    if old is not None and new is not None:
        new = _without(new, old, known.ignored)
    pool = inputs.get(known.parent, (None, None))
    forcing = tuple(_forcing(old, new, pool)) if known.type == SERVER else ()
    return Step(
        op=_op(old, new, forcing),
        type=known.type,
        name=known.resource.name,
        urn=urn,
        parent=known.parent,
        old=old,
        new=new,
        forcing=forcing,
    )


def _op(old: Inputs | None, new: Inputs | None, forcing: tuple[str, ...]) -> Op:
    if old is None or new is None:
        return "create" if old is None else "delete"
    if old == new:
        return "same"
    return "replace" if forcing else "update"


def _forcing(
    old: Inputs | None, new: Inputs | None, pool: tuple[Inputs | None, Inputs | None]
) -> Iterator[str]:
    """Yield what replaces a server of Hetzner.

    Its user data have a secret that is not known here. But the digest of all else that the server
    is made from is its label, and the boot data are the pool's.
    """
    if old is None or new is None:
        return
    found = [path for path in _FORCING if old.get(path) != new.get(path)]
    yield from found
    boots = [(each or {}).get("ignition") for each in pool]
    digests = [at(each, "labels", BOOT_LABEL) for each in (old, new)]
    if digests[0] != digests[1] and (boots[0] != boots[1] or not found):
        yield "userData"


def _without(new: Inputs, old: Inputs, ignored: tuple[str, ...]) -> Inputs:
    """Return inputs with the old values of the properties whose changes an update ignores."""
    for path in ignored:
        key, _, rest = path.partition(".")
        if rest and isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            new = {**new, key: _without(new[key], old[key], (rest,))}
        elif not rest:
            kept = {key: old[key]} if key in old else {}
            new = {**{name: value for name, value in new.items() if name != key}, **kept}
    return new


def _waits(value: Any) -> bool:
    """Return whether a value, or one within it, is known only after an update."""
    if isinstance(value, dict):
        return any(map(_waits, value.values()))
    if isinstance(value, list):
        return any(map(_waits, value))
    return isinstance(value, str) and value in UNKNOWN


def _inputs(registered: Registered | None) -> Inputs | None:
    return None if registered is None else _mapping(registered.wire)


def _mapping(struct: Struct) -> dict[str, Any]:
    return {key: _plain(value) for key, value in struct.fields.items()}


def _plain(value: Value) -> Any:
    """Return a value as JSON has it; what is secret in it is made up (see `validate.program`)."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        fields = value.struct_value.fields
        if SIGNATURE in fields and _SECRET_VALUE in fields:
            return _plain(fields[_SECRET_VALUE])
        return _mapping(value.struct_value)
    if kind == "list_value":
        return [_plain(each) for each in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return None if kind == "null_value" else getattr(value, kind)
