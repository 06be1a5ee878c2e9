"""Turns a provider's answers into the protobuf messages that the engine expects."""

import re
from collections.abc import Iterable

from pulumi.runtime.proto import provider_pb2, status_pb2

from rehearsal.providers.contract import (
    CheckResult,
    Failure,
    PropertyChange,
    PropertyDifference,
    Resource,
    State,
    UnfinishedError,
)
from rehearsal.providers.values import decode, encode

UNKNOWN_STATUS = 2


def failures(found: Iterable[Failure]) -> list[provider_pb2.CheckFailure]:
    """The refused inputs, one sentence each, which begins with the property path.

    The field for the path stays empty: the engine would print the property's value beside it,
    secret or not, and nothing for a path inside a property.
    """
    return [provider_pb2.CheckFailure(reason=failure.sentence) for failure in found]


def checked(answer: CheckResult) -> provider_pb2.CheckResponse:
    """The answer to Check."""
    return provider_pb2.CheckResponse(
        inputs=encode(answer.inputs), failures=failures(answer.failures)
    )


def difference(answer: PropertyDifference) -> provider_pb2.DiffResponse:
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


def _property_diff(change: PropertyChange, *, replaces: bool) -> provider_pb2.PropertyDiff:
    # In the protocol, the kind that replaces comes right after the one that does not.
    number = change.value + (1 if replaces else 0)
    return provider_pb2.PropertyDiff(
        kind=provider_pb2.PropertyDiff.Kind.Name(number), inputDiff=True
    )


def read(state: State | None) -> provider_pb2.ReadResponse:
    """The answer to Read; an answer without an id means that the resource is gone."""
    if state is None:
        return provider_pb2.ReadResponse()
    return provider_pb2.ReadResponse(
        id=state.id, properties=encode(state.outputs), inputs=encode(state.inputs)
    )


def unfinished(error: UnfinishedError) -> bytes:
    """The status details that tell the engine that the resource exists all the same."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.id, properties=encode(error.outputs), reasons=[str(error)]
    )
    status = status_pb2.Status(code=UNKNOWN_STATUS, message=str(error))
    status.details.add().Pack(detail)
    return bytes(status.SerializeToString())


def resource_of(urn: str) -> Resource:
    """The resource of a URN, `urn:pulumi:stack::project::parent$type::name`."""
    _, _, types, name = urn.split("::", 3)
    return Resource(urn=urn, type=types.rpartition("$")[2], name=name)


def state_of(
    request: provider_pb2.DiffRequest | provider_pb2.UpdateRequest | provider_pb2.DeleteRequest,
) -> State:
    """The engine's state of the resource of a request."""
    outputs = (
        request.properties if isinstance(request, provider_pb2.DeleteRequest) else request.olds
    )
    ignored = request.ignoreChanges if isinstance(request, provider_pb2.UpdateRequest) else ()
    return State(
        id=request.id,
        inputs=decode(request.old_inputs),
        outputs=decode(outputs),
        ignored=tuple(ignored),
    )
