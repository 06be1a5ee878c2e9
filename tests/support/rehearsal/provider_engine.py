"""The engine's side of the protocol: calls to a provider, and its answers."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pulumi.runtime.proto import provider_pb2

from rehearsal.providers.calls import CallLog
from rehearsal.providers.contract import Provider
from rehearsal.providers.servicer import Servicer
from rehearsal.providers.values import Properties, Secret, decode, encode
from tests.support.recorder import Registered, plain, render

DELETE_TIMEOUT_S = 180.0
"""Well over the 30 s after which the garbage collector, which ends a foreground deletion, looks for
kinds that are new to it."""


class Refused(Exception):  # noqa: N818  # what the engine sees
    """A gRPC error, with its sentence."""


@dataclass
class CallContext:
    """A call's context, from one connection; `is_gone` where the engine is killed meanwhile."""

    address: str = "ipv4:127.0.0.1:4000"
    metadata: dict[str, bytes] = field(default_factory=dict)
    is_gone: bool = False

    def peer(self) -> str:
        return self.address

    def add_callback(self, callback: Callable[[], None]) -> bool:
        if self.is_gone:
            callback()
        return True

    def set_trailing_metadata(self, pairs: Sequence[tuple[str, bytes]]) -> None:
        self.metadata.update(dict(pairs))

    def abort(self, code: object, details: str) -> NoReturn:
        raise Refused(details)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A resource in the engine's state."""

    type: str
    id: str
    inputs: Properties
    outputs: Properties


@dataclass(kw_only=True)
class FakeEngine:
    """Asks one provider, as the engine does for the program's `Provider(...)`."""

    servicer: Servicer
    directory: Path
    context: Any = field(default_factory=CallContext)

    def configure(self, config: Properties) -> None:
        request = provider_pb2.ConfigureRequest(args=encode(config), name="provider")
        self.servicer.Configure(request, self.context)

    def config_refusals(self, package: str, config: Properties) -> list[str]:
        urn = f"urn:pulumi:dev::fleet::pulumi:providers:{package}::provider"
        request = provider_pb2.CheckRequest(urn=urn, news=encode(config))
        return [
            failure.reason for failure in self.servicer.CheckConfig(request, self.context).failures
        ]

    def checked(
        self, type_: str, inputs: Properties, *, old: Properties | None = None
    ) -> Properties:
        answer = self._check(type_, inputs, old or {})
        assert not answer.failures, [failure.reason for failure in answer.failures]
        return decode(answer.inputs)

    def refusals(self, type_: str, inputs: Properties) -> list[str]:
        return [failure.reason for failure in self._check(type_, inputs, {}).failures]

    def refusal(self, type_: str, inputs: Properties) -> str:
        """The refusal of inputs that have one mistake."""
        (sentence,) = self.refusals(type_, inputs)
        return sentence

    def previewed(self, type_: str, inputs: Properties) -> Properties:
        request = provider_pb2.CreateRequest(
            urn=urn(type_), properties=encode(self.checked(type_, inputs)), preview=True
        )
        return decode(self.servicer.Create(request, self.context).properties)

    def created(
        self, type_: str, inputs: Properties, name: str = "it", *, timeout_s: float = 30.0
    ) -> Made:
        known = self.checked(type_, inputs)
        request = provider_pb2.CreateRequest(
            urn=urn(type_, name), properties=encode(known), timeout=timeout_s
        )
        answer = self.servicer.Create(request, self.context)
        return Made(type=type_, id=answer.id, inputs=known, outputs=decode(answer.properties))

    def diff(self, made: Made, inputs: Properties) -> provider_pb2.DiffResponse:
        new = self.checked(made.type, inputs, old=made.inputs)
        request = provider_pb2.DiffRequest(
            id=made.id,
            urn=urn(made.type),
            old_inputs=encode(made.inputs),
            olds=encode(made.outputs),
            news=encode(new),
        )
        return self.servicer.Diff(request, self.context)

    def updated(
        self,
        made: Made,
        inputs: Properties,
        *,
        preview: bool = False,
        ignored: Sequence[str] = (),
    ) -> Properties:
        """The outputs of an update; for `ignored` paths the engine sends the old inputs."""
        request = provider_pb2.UpdateRequest(
            id=made.id,
            urn=urn(made.type),
            old_inputs=encode(made.inputs),
            olds=encode(made.outputs),
            news=encode(self.checked(made.type, inputs, old=made.inputs)),
            preview=preview,
            ignoreChanges=ignored,
        )
        return decode(self.servicer.Update(request, self.context).properties)

    def read(self, made: Made) -> Made | None:
        request = provider_pb2.ReadRequest(
            id=made.id,
            urn=urn(made.type),
            inputs=encode(made.inputs),
            properties=encode(made.outputs),
        )
        answer = self.servicer.Read(request, self.context)
        if not answer.id:
            return None
        inputs, outputs = decode(answer.inputs), decode(answer.properties)
        return Made(type=made.type, id=answer.id, inputs=inputs, outputs=outputs)

    def delete(self, made: Made, *, timeout_s: float = DELETE_TIMEOUT_S) -> None:
        request = provider_pb2.DeleteRequest(
            id=made.id,
            urn=urn(made.type),
            old_inputs=encode(made.inputs),
            properties=encode(made.outputs),
            timeout=timeout_s,
        )
        self.servicer.Delete(request, self.context)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        request = provider_pb2.InvokeRequest(tok=token, args=encode(arguments))
        return decode(getattr(self.servicer.Invoke(request, self.context), "return"))

    def calls(self) -> list[dict[str, Any]]:
        """The lines of calls.jsonl."""
        lines = (self.directory / "calls.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def _check(self, type_: str, inputs: Properties, old: Properties) -> provider_pb2.CheckResponse:
        request = provider_pb2.CheckRequest(
            urn=urn(type_), olds=encode(old), news=encode(inputs), randomSeed=b"seed"
        )
        return self.servicer.Check(request, self.context)


def urn(type_: str, name: str = "it") -> str:
    return f"urn:pulumi:dev::fleet::gpu:pools:Pool${type_}::{name}"


def engine(provider: Provider, directory: Path) -> FakeEngine:
    """An engine attached to `provider`."""
    return FakeEngine(servicer=Servicer(provider, CallLog(directory)), directory=directory)


def made_of(program: Callable[[], object], asks: FakeEngine, kubeconfig: Secret) -> dict[str, Made]:
    """What a program registers in the cluster, made in its order; by its name."""
    asks.configure({"kubeconfig": kubeconfig})
    return {
        each.name: asks.created(each.type, inputs(each), each.name)
        for each in render(program)
        if each.custom and each.type.startswith("kubernetes:")
    }


def inputs(registered: Registered) -> Any:
    """What the engine would send: the recorder has whole numbers as floats."""
    text = json.dumps(plain(registered.inputs))
    return json.loads(text, parse_float=lambda number: int(float(number)))
