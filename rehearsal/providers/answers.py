"""Answers of a provider as the protobuf messages that the engine expects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pulumi.runtime.proto import provider_pb2, status_pb2

from rehearsal.providers.contract import Resource, State
from rehearsal.providers.values import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rehearsal.providers.contract import Change, Checked, Difference, Failure, Unfinished

UNKNOWN_STATUS = 2


def failures(found: Iterable[Failure]) -> list[provider_pb2.CheckFailure]:
    """Refused inputs, one sentence each, which begins with the property path.

    The path is not given apart: the engine would print the property's value beside it, secret or
    not, and nothing for a path inside a property.
    """
    return [provider_pb2.CheckFailure(reason=failure.sentence) for failure in found]


def checked(answer: Checked) -> provider_pb2.CheckResponse:
    """The answer to Check."""
    return provider_pb2.CheckResponse(
        inputs=encode(answer.inputs), failures=failures(answer.failures)
    )


def difference(answer: Difference) -> provider_pb2.DiffResponse:
    """The answer to Diff and DiffConfig."""
    some = provider_pb2.DiffResponse.DIFF_SOME
    none = provider_pb2.DiffResponse.DIFF_NONE
    return provider_pb2.DiffResponse(
        changes=some if answer.changes else none,
        diffs=sorted({re.split(r"[.\[]", path)[0] for path in answer.changes}),
        replaces=sorted(answer.replaces),
        deleteBeforeReplace=answer.delete_before_replace,
        hasDetailedDiff=True,
        detailedDiff={
            path: _property_diff(change, replaces=path in answer.replaces)
            for path, change in answer.changes.items()
        },
    )


def _property_diff(change: Change, *, replaces: bool) -> provider_pb2.PropertyDiff:
    # In the protocol, the kind that replaces comes right after the one that does not.
    number = change.value + (1 if replaces else 0)
    return provider_pb2.PropertyDiff(
        kind=provider_pb2.PropertyDiff.Kind.Name(number), inputDiff=True
    )


def read(state: State | None) -> provider_pb2.ReadResponse:
    """The answer to Read; without an id it says that the resource is gone."""
    if state is None:
        return provider_pb2.ReadResponse()
    return provider_pb2.ReadResponse(
        id=state.id, properties=encode(state.outputs), inputs=encode(state.inputs)
    )


def unfinished(error: Unfinished) -> bytes:
    """The status details by which the engine learns that a resource is there all the same."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.id, properties=encode(error.outputs), reasons=[str(error)]
    )
    status = status_pb2.Status(code=UNKNOWN_STATUS, message=str(error))
    status.details.add().Pack(detail)
    return bytes(status.SerializeToString())


def resource_of(urn: str) -> Resource:
    """The resource that a URN names: `urn:pulumi:stack::project::parent$type::name`."""
    _, _, types, name = urn.split("::", 3)
    return Resource(urn=urn, type=types.rpartition("$")[2], name=name)


def state_of(
    request: provider_pb2.DiffRequest | provider_pb2.UpdateRequest | provider_pb2.DeleteRequest,
) -> State:
    """What the engine remembers of the resource that a request is about."""
    outputs = (
        request.properties if isinstance(request, provider_pb2.DeleteRequest) else request.olds
    )
    return State(id=request.id, inputs=decode(request.old_inputs), outputs=decode(outputs))
