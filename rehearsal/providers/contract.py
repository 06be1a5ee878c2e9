"""The engine's calls to a provider and the provider's answers, without gRPC.

`servicer.py` turns the engine's calls into these types; `simulated.py`, `dynamic.py` and
`kubernetes/` answer them.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from rehearsal.providers.values import Properties


class UnfinishedError(Exception):
    """A resource was created but is not ready; the engine keeps it in its state.

    `summary` goes into the log of calls, so it holds no property values.
    """

    def __init__(self, sentence: str, *, id_: str, outputs: Properties, summary: str) -> None:
        super().__init__(sentence)
        self.id = id_
        self.outputs = outputs
        self.summary = summary


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One refused input: its property path, and a sentence with the value and what is allowed."""

    path: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Resource:
    """The resource of a call."""

    urn: str
    type: str
    name: str


class NameMode(Enum):
    """How the engine's `pulumi:autonaming` configuration treats a missing name."""

    PROPOSE = 0
    ENFORCE = 1
    DISABLE = 2


@dataclass(frozen=True, kw_only=True)
class Naming:
    """How to make a missing name; `seed` is empty where the engine gives none."""

    seed: bytes = b""
    proposed: str | None = None
    mode: NameMode = NameMode.PROPOSE


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The answer to Check: inputs with their names filled in, or the failures."""

    inputs: Properties = field(repr=False)
    failures: Sequence[Failure] = ()


class PropertyChange(Enum):
    """How one property differs; the values are those of the engine's `PropertyDiff.Kind`."""

    ADD = 0
    DELETE = 2
    UPDATE = 4


@dataclass(frozen=True, kw_only=True)
class PropertyDifference:
    """The differences between old and new inputs, by property path."""

    changes: Mapping[str, PropertyChange]
    replaces: frozenset[str] = frozenset()
    delete_before_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class State:
    """A resource in the engine's state."""

    id: str
    inputs: Properties = field(repr=False)
    outputs: Properties = field(repr=False)
    ignored: tuple[str, ...] = ()
    """The property paths that the program tells the engine to ignore; known in an update."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """One configured provider: the resource `Provider(...)` of a program."""

    name: str
    config: Properties = field(repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the engine asks to stop; every wait then ends with a RefusedError."""


class Instance(Protocol):
    """A configured provider that answers the calls about its resources."""

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> CheckResult: ...

    def diff(self, resource: Resource, state: State, new: Properties) -> PropertyDifference: ...

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool, timeout_s: float
    ) -> tuple[str, Properties]: ...

    def read(self, resource: Resource, state: State) -> State | None: ...

    def update(
        self,
        resource: Resource,
        state: State,
        new: Properties,
        *,
        preview: bool,
        timeout_s: float,
    ) -> Properties: ...

    def delete(self, resource: Resource, state: State, *, timeout_s: float) -> None: ...

    def invoke(self, token: str, arguments: Properties) -> Properties: ...


class Provider(Protocol):
    """A package that makes an instance from each configuration."""

    @property
    def package(self) -> str: ...

    @property
    def version(self) -> str: ...

    def check_config(self, config: Properties) -> Sequence[Failure]: ...

    def diff_config(self, old: Properties, new: Properties) -> PropertyDifference: ...

    def configure(self, session: Session) -> Instance: ...
