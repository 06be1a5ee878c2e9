"""What a provider of the rehearsal is asked and answers, free of gRPC.

`servicer.py` turns the calls of the engine into these; `simulated.py` and `kubernetes/` answer.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rehearsal.providers.values import Properties


class Refusal(Exception):  # noqa: N818  # it is an answer that a cloud gives, not a fault
    """The cloud says no: one sentence for the user, and nothing was created or changed.

    `summary` goes into the log of calls, so it holds no property values.
    """

    def __init__(self, sentence: str, *, summary: str = "refused") -> None:
        super().__init__(sentence)
        self.summary = summary


class Unfinished(Exception):  # noqa: N818  # likewise
    """Something was created but did not become what it should; the engine keeps it in its state."""

    def __init__(self, sentence: str, *, id_: str, outputs: Properties, summary: str) -> None:
        super().__init__(sentence)
        self.id = id_
        self.outputs = outputs
        self.summary = summary


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One input that is refused: its property path, and a sentence: value seen, what is allowed."""

    path: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Resource:
    """The resource that a call is about."""

    urn: str
    type: str
    name: str


class NameMode(Enum):
    """What the engine's `pulumi:autonaming` configuration wants of a missing name."""

    PROPOSE = 0
    ENFORCE = 1
    DISABLE = 2


@dataclass(frozen=True, kw_only=True)
class Naming:
    """How a missing name is to be made; `seed` is empty where the engine gives none."""

    seed: bytes = b""
    proposed: str | None = None
    mode: NameMode = NameMode.PROPOSE


@dataclass(frozen=True, kw_only=True)
class Checked:
    """Inputs with defaults and names filled in, or what is wrong with them."""

    inputs: Properties = field(repr=False)
    failures: Sequence[Failure] = ()


class Change(Enum):
    """How one property differs; the values are those of the engine's PropertyDiff."""

    ADD = 0
    DELETE = 2
    UPDATE = 4


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What differs between old and new inputs, by property path."""

    changes: Mapping[str, Change]
    replaces: frozenset[str] = frozenset()
    delete_before_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class State:
    """What the engine remembers of a resource."""

    id: str
    inputs: Properties = field(repr=False)
    outputs: Properties = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Session:
    """One configured provider instance: the resource `Provider(...)` of a program."""

    name: str
    config: Properties = field(repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the engine asks to stop; whoever waits gives up with a sentence."""


class Instance(Protocol):
    """A configured provider instance that answers for its resources."""

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> Checked: ...

    def diff(self, resource: Resource, state: State, new: Properties) -> Difference: ...

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
    """A package: makes instances from their configuration."""

    @property
    def package(self) -> str: ...

    @property
    def version(self) -> str: ...

    def check_config(self, config: Properties) -> Sequence[Failure]: ...

    def diff_config(self, old: Properties, new: Properties) -> Difference: ...

    def configure(self, session: Session) -> Instance: ...
