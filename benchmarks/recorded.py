"""What components of the program would send to the cluster, without an engine."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi
from pulumi.runtime import mocks

Objects = Sequence[tuple[str, Mapping[str, Any]]]
"""Types, such as `kubernetes:core/v1:Namespace`, and inputs, in the order of the program."""


def recorded(program: Callable[[], object]) -> Objects:
    """Return the Kubernetes objects and Helm releases that `program` registers."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    kept = _Recorder()
    mocks.set_mocks(kept, project="gpu-fleet", stack="benchmarks", preview=False)

    def body() -> pulumi.Output[None]:
        program()
        return pulumi.Output.from_input(None)

    pulumi.runtime.test(body)()  # type: ignore[no-untyped-call]  # the SDK's
    return kept.objects


class _Recorder(mocks.Mocks):
    """Answers with what it is asked for, named."""

    def __init__(self) -> None:
        self.objects: list[tuple[str, Mapping[str, Any]]] = []

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if args.typ.startswith("kubernetes:"):
            self.objects.append((args.typ, _whole(args.inputs)))
        metadata = {"name": args.name, **(args.inputs.get("metadata") or {})}
        return args.name, {**args.inputs, "metadata": metadata}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        raise NotImplementedError(f"The clouds are not asked here: {args.token}.")


def _whole(value: Any) -> Any:
    """Return whole numbers as integers, which come over gRPC as floats."""
    if isinstance(value, Mapping):
        return {key: _whole(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
