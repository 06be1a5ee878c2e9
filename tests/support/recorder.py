"""Runs a Pulumi program without an engine and returns what it registered, secrets marked.

resources = render(program)                  # as `pulumi up` would
resources = render(program, preview=True)    # with unknowns where the clouds answer only later
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pulumi
from google.protobuf.json_format import (  # type: ignore[import-untyped]  # it has no stubs
    MessageToDict,
)
from pulumi.runtime import mocks, settings
from pulumi.runtime.rpc import UNKNOWN
from pulumi.runtime.stack import Stack

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"
PROVIDER = "pulumi:providers:"
READ_DEPLOYED = "pulumi:pulumi:readStackResourceOutputs"
ACCESS_KEY = "access-key-that-aws-made"
"""What AWS answers for an access key; the program must never show it."""

JOIN_SEED = "5eed" * 16
"""From which the bootstrap tokens follow; the program must never show it."""

Program = Callable[[], object]
"""Registers resources; what it returns does not matter."""


@dataclass(frozen=True)
class Secret:
    """A value that reached the engine as a secret."""

    value: object


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A resource as the engine was asked for it. `provider` is empty for components."""

    type: str
    name: str
    parent: str
    provider: str
    custom: bool
    inputs: Mapping[str, object]
    depends_on: tuple[str, ...]
    delete_before_replace: bool
    protect: bool = False
    ignore_changes: tuple[str, ...] = ()

    @property
    def is_provider(self) -> bool:
        return self.type.startswith(PROVIDER)

    @property
    def kind(self) -> str:
        """The Kubernetes kind, else the type's last word."""
        return str(self.inputs.get("kind", self.type.rsplit(":", 1)[-1]))


def render(
    program: Program,
    *,
    preview: bool = False,
    not_found: str | None = None,
    because: str = "nothing matches",
    deployed: Sequence[tuple[str, Mapping[str, object]]] = (),
) -> list[Registered]:
    """What `program` registers, in the order of the requests.

    The lookup `not_found` fails, and the cloud says that it is `because`. `deployed` are types and
    outputs of resources that the stack has already.
    """
    clouds = _Clouds(not_found, because, deployed)
    return _run(program, preview=preview, clouds=clouds)[0]


def invoked(program: Program) -> list[tuple[str, Mapping[str, object]]]:
    """What `program` asks the clouds: the function's token and its arguments."""
    return _run(program, preview=True)[2]


def exported(program: Program) -> Mapping[str, object]:
    """What `program` exports."""
    return _run(program, preview=False)[1]


def named(resources: Sequence[Registered], kind: str) -> dict[str, Registered]:
    """The resources of one kind by their name in Pulumi."""
    return {each.name: each for each in resources if each.kind == kind}


def plain(value: object) -> object:
    """The value without its secret parts."""
    if isinstance(value, Secret):
        return "[secret]"
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def _run(
    program: Program, *, preview: bool, clouds: "_Clouds | None" = None
) -> tuple[list[Registered], Mapping[str, object], list[tuple[str, Mapping[str, object]]]]:
    asyncio.set_event_loop(asyncio.new_event_loop())
    settings.ROOT.set(None)  # or the exports of the last run would still be there
    clouds = clouds or _Clouds(None, "", ())
    monitor = _Monitor(clouds)
    mocks.set_mocks(
        clouds,
        project="gpu-fleet",
        stack="test",
        preview=preview,
        monitor=monitor,
        organization="organization",
    )
    exports: dict[str, object] = {}

    def body() -> pulumi.Output[None]:
        program()
        root = settings.ROOT.get()
        outputs = root.outputs if isinstance(root, Stack) else {}
        return pulumi.Output.from_input(outputs).apply(exports.update)

    pulumi.runtime.test(body)()  # type: ignore[no-untyped-call]  # the SDK's
    return monitor.requests, exports, clouds.invokes


class _Clouds(mocks.Mocks):
    """Answers as the clouds do: numbers as ids at Hetzner, names kept elsewhere."""

    def __init__(
        self,
        not_found: str | None,
        because: str,
        deployed: Sequence[tuple[str, Mapping[str, object]]],
    ) -> None:
        self.deployed = {
            f"urn:{number}": {"type": type_, "outputs": outputs}
            for number, (type_, outputs) in enumerate(deployed)
        }
        self.not_found = not_found
        self.because = because
        self.invokes: list[tuple[str, Mapping[str, object]]] = []

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, object], list[tuple[str, str]]]:
        self.invokes.append((args.token, args.args))
        if args.token == self.not_found:
            return {}, [("", self.because)]
        answers: dict[str, dict[str, object]] = {
            "hcloud:index/getImage:getImage": {"id": 4711},
            READ_DEPLOYED: {"outputs": self.deployed},
            "aws:ec2/getAmi:getAmi": {"id": "ami-0fla7car", "imageId": "ami-0fla7car"},
        }
        return answers[args.token], []

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, object]]:
        state = dict(args.inputs)
        if args.typ.startswith("kubernetes:"):
            metadata = state.get("metadata") or {}
            state["metadata"] = {"name": args.name, "uid": f"uid-of-{args.name}", **metadata}
        if args.typ.startswith("aws:"):
            service = args.typ.split(":")[1].split("/")[0]
            state["arn"] = f"arn:aws:{service}:us-east-1:123456789012:{state.get('name')}"
        if args.typ == "pulumi-python:dynamic/kube:JoinSeed":
            state["seed"] = JOIN_SEED
        if args.typ == "aws:iam/accessKey:AccessKey":
            state["secret"] = ACCESS_KEY
        number = sum(map(ord, args.name))
        return (str(number) if args.typ.startswith("hcloud:") else f"{args.name}-id"), state


class _Monitor(mocks.MockMonitor):
    """Keeps each request whole; the mocks alone see neither parents nor secrets."""

    def __init__(self, clouds: _Clouds) -> None:
        super().__init__(clouds)
        self.requests: list[Registered] = []

    def RegisterResource(self, request):  # type: ignore[no-untyped-def]  # noqa: N802  # gRPC's
        if request.type != "pulumi:pulumi:Stack":
            self.requests.append(
                Registered(
                    type=request.type,
                    name=request.name,
                    parent=request.parent,
                    provider=request.provider or "".join(request.providers.values()),
                    custom=request.custom,
                    inputs=_mark(MessageToDict(request.object)),  # type: ignore[arg-type]  # inputs are a mapping
                    depends_on=tuple(request.dependencies),
                    delete_before_replace=request.deleteBeforeReplace,
                    protect=request.protect,
                    ignore_changes=tuple(request.ignoreChanges),
                )
            )
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]  # the SDK's


def _mark(value: object) -> object:
    if isinstance(value, dict):
        if value.get(_SIGNATURE) == _SECRET:
            return Secret(_mark(value["value"]))
        return {key: _mark(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_mark(part) for part in value]
    return None if value == UNKNOWN else value
