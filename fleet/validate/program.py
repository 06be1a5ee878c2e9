"""Runs the program without an engine, to see what it would register.

No plugin starts and no cloud is asked: Pulumi's own mocks answer as a preview of a new stack does,
with the inputs of each resource and nothing that only a cloud knows.
"""

import asyncio
import base64
import json
import logging
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pulumi
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime import mocks
from pulumi.runtime.proto.resource_pb2 import RegisterResourceResponse

from policies.environment import Environment
from policies.gates.normal_form import Plain, from_wire
from policies.language.rule import Manifest
from policies.verdicts import Resource
from rehearsal.made_up_secrets import generate
from settings.names import PROJECT
from settings.secrets import SECRETS, needed_secrets
from settings.tunnel_keys import key_owners
from settings.types import Settings
from stacks.compose import compose

KUBERNETES = "kubernetes:"
_IMAGE = "hcloud:index/getImage:getImage"
_ANSWERS: Mapping[str, Mapping[str, object]] = {
    "aws:ec2/getAmi:getAmi": {"id": "ami-0", "imageId": "ami-0"},
    "pulumi:pulumi:readStackResourceOutputs": {"outputs": {}},
}
"""What the program asks: images of Flatcar (see `call`), and what the stack has: nothing yet."""


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A resource in the form that rules read, and as it was registered: `wire`, `parent` by URN."""

    resource: Resource
    manifest: Manifest
    type: str
    parent: str
    wire: Struct
    ignored: tuple[str, ...]  # properties whose changes an update ignores


@dataclass(frozen=True, kw_only=True)
class Program:
    """What the program registers, in the order of the engine's, and the warnings it gives."""

    resources: tuple[Registered, ...]
    warnings: tuple[str, ...]


def program(environment: Environment) -> Program:
    """Return what the program registers for an environment."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    pulumi.runtime.settings.ROOT.set(None)  # or the exports of the run before would be there
    monitor, log = _Monitor(_NoCloud()), _Warnings()
    logger = logging.Logger("program")  # of one run, known to nobody else
    logger.addHandler(log)
    mocks.set_mocks(
        monitor.mocks,
        project=PROJECT,
        stack=environment.settings.environment,
        organization="organization",
        preview=True,
        logger=logger,
        monitor=monitor,
    )
    secrets = dict(_secrets(environment.settings))

    def run() -> None:
        compose(environment, {name: pulumi.Output.secret(text) for name, text in secrets.items()})

    pulumi.runtime.test(run)()  # type: ignore[no-untyped-call]  # waits for all that it begins
    found = sorted(monitor.registered, key=lambda each: each.resource.urn)
    return Program(resources=tuple(found), warnings=tuple(dict.fromkeys(log.warnings)))


def _secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the secrets that an environment needs, made up; no rule reads one."""
    for name in needed_secrets(settings):
        keys = {owner: base64.b64encode(bytes(32)).decode() for owner in key_owners(settings)}
        yield name, json.dumps(keys) if name == "wireguard_keys" else _made_up(name)


@cache
def _made_up(name: str) -> str:
    """Return the same secret each time: two versions of an environment have one, too."""
    return generate(SECRETS[name])


class _NoCloud(mocks.Mocks):
    """Answers what the program asks; `_Monitor` answers what it registers."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        raise NotImplementedError(args.typ)

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]]]:
        if args.token == _IMAGE:  # another release is another snapshot
            return {"id": zlib.crc32(json.dumps(args.args, sort_keys=True).encode())}, []
        return dict(_ANSWERS[args.token]), []


class _Monitor(mocks.MockMonitor):
    """Keeps each resource as the engine would hand it to a policy.

    Answers as a preview: inputs come back, and nothing that a cloud would add. They come back as
    they are: the mock monitor of Pulumi would read and write each of them once more.
    """

    def __init__(self, clouds: mocks.Mocks) -> None:
        super().__init__(clouds)
        self.registered: list[Registered] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  # the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == "pulumi:pulumi:Stack":
            return RegisterResourceResponse(urn=urn)
        self.registered.append(_registered(request, urn))
        outputs = Struct()
        outputs.CopyFrom(request.object)
        if request.type.startswith(KUBERNETES):
            metadata = outputs.fields["metadata"].struct_value
            if "name" not in metadata:
                metadata["name"] = request.name
        return RegisterResourceResponse(urn=urn, object=outputs)


def _registered(request: Any, urn: str) -> Registered:
    kind, name = request.type.rpartition(":")[2], request.name
    return Registered(
        resource=Resource(kind=kind, name=name, urn=urn),
        manifest=_manifest(request),
        type=request.type,
        parent=request.parent,
        wire=request.object,
        ignored=tuple(request.ignoreChanges),
    )


def _manifest(request: Any) -> Manifest:
    inputs, name = from_wire(request.object), request.name
    if not request.type.startswith(KUBERNETES) or "kind" not in inputs:
        return {"kind": request.type, "metadata": {"name": name}, "spec": inputs}
    metadata = inputs.setdefault("metadata", {})
    if type(metadata) is dict and type(metadata.get("name")) is not str:
        metadata["name"] = name
    return Plain(inputs)


class _Warnings(logging.Handler):
    """Keeps what the program warns of."""

    def __init__(self) -> None:
        super().__init__(level=logging.WARNING)
        self.warnings: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.warnings.append(record.getMessage())
