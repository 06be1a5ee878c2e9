"""`pulumi-python`: resources whose provider is Python of the program; recorded, not made.

What such a provider says of its inputs is asked of it, as in a real run. What it would do is not
done: there is no server in a rehearsal that it could speak to.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import dill  # type: ignore[import-untyped]  # it ships no types

from rehearsal.providers.cloud import CloudObject
from rehearsal.providers.concealing import conceal_properties
from rehearsal.providers.contract import Change, Checked, Difference, Failure, Refusal, State
from rehearsal.providers.values import UNKNOWN, UNKNOWN_TEXT, Unknown, Value, plain_properties

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulumi.dynamic import ResourceProvider

    from rehearsal.providers.cloud import Cloud
    from rehearsal.providers.contract import Naming, Resource, Session
    from rehearsal.providers.values import Properties

PACKAGE = "pulumi-python"
PROVIDER = "__provider"
"""The property in which the program hands over its provider, pickled and in base64."""


@dataclass(frozen=True, kw_only=True)
class DynamicProvider:
    """The package of all dynamic resources of Python programs."""

    cloud: Cloud = field(repr=False)

    @property
    def package(self) -> str:
        """The package of their types."""
        return PACKAGE

    @property
    def version(self) -> str:
        """The version of the SDK that pickles the providers."""
        return version("pulumi")

    def check_config(self, config: Properties) -> Sequence[Failure]:
        """It has no arguments of its own."""
        del config
        return ()

    def diff_config(self, old: Properties, new: Properties) -> Difference:
        """Other settings of the program replace nothing."""
        del old, new
        return Difference(changes={})

    def configure(self, session: Session) -> DynamicInstance:
        """The instance; the settings of the program that it gets are for making things alone."""
        del session
        return DynamicInstance(cloud=self.cloud)


@dataclass(frozen=True, kw_only=True)
class DynamicInstance:
    """Asks the providers of the program, and remembers what they would have made."""

    cloud: Cloud = field(repr=False)

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> Checked:
        """What the resource's own provider says of its inputs."""
        del naming
        answer = _provider(resource, new, old).check(_handed(old), _handed(new))
        inputs = {**_taken(answer.inputs or {}), PROVIDER: new[PROVIDER]}
        return Checked(
            inputs=conceal_properties(inputs, new),
            failures=[
                Failure(path=failure.property, sentence=failure.reason)
                for failure in answer.failures or ()
            ],
        )

    def diff(self, resource: Resource, state: State, new: Properties) -> Difference:
        """What its provider says is to be changed, and whether that replaces it."""
        old, wanted = _handed(state.outputs), _handed(new)
        answer = _provider(resource, new, state.outputs).diff(state.id, old, wanted)
        if answer.changes is False:
            return Difference(changes={})
        changed = {key for key in (*old, *wanted) if old.get(key) != wanted.get(key)}
        replaces = frozenset(answer.replaces or ())
        return Difference(
            changes={key: _change(old, wanted, key) for key in changed | replaces},
            replaces=replaces,
            delete_before_replace=bool(answer.delete_before_replace),
        )

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool, timeout_s: float
    ) -> tuple[str, Properties]:
        """Records it; its outputs are its inputs, for nobody was there to say more."""
        del timeout_s
        if preview:
            return "", inputs
        self._record(resource, resource.name, inputs)
        return resource.name, inputs

    def read(self, resource: Resource, state: State) -> State | None:
        """The resource as it is remembered."""
        return state if self.cloud.get(resource.type, state.id) else None

    def update(
        self,
        resource: Resource,
        state: State,
        new: Properties,
        *,
        preview: bool,
        timeout_s: float,
    ) -> Properties:
        """Records it anew."""
        del timeout_s
        if not preview:
            self._record(resource, state.id, new)
        return new

    def delete(self, resource: Resource, state: State, *, timeout_s: float) -> None:
        """Forgets it."""
        del timeout_s
        self.cloud.remove(resource.type, state.id)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """There are no functions of dynamic providers."""
        del arguments
        raise Refusal(f"{token} cannot be rehearsed: nobody answers it.", summary="unknown")

    def _record(self, resource: Resource, id_: str, inputs: Properties) -> None:
        given = plain_properties(inputs)
        del given[PROVIDER]
        self.cloud.put(
            CloudObject(
                provider=PACKAGE,
                type=resource.type,
                id=id_,
                name=resource.name,
                inputs=given,
                outputs=given,
            )
        )


def _provider(resource: Resource, new: Properties, old: Properties) -> ResourceProvider:
    """The provider that the program pickled; of before, where the new one is not known yet."""
    for properties in (new, old):
        text = plain_properties(properties).get(PROVIDER)
        if isinstance(text, str):
            pickled = base64.b64decode(text)
            provider = dill.loads(pickled)  # noqa: S301  # the program that just ran wrote it
            return cast("ResourceProvider", provider)
    raise Refusal(
        f"{resource.type} {resource.name} comes without its provider.", summary="no provider"
    )


def _handed(properties: Mapping[str, Value]) -> dict[str, Any]:
    """Properties as the SDK hands them to a provider: secrets open, unknowns by their text."""
    opened = plain_properties(properties)
    return {key: _worded(value) for key, value in opened.items()}


def _taken(properties: Mapping[str, Any]) -> Properties:
    """Properties that a provider answered."""
    return {key: _unknowns(value) for key, value in properties.items()}


def _worded(value: Value) -> Any:
    if isinstance(value, Unknown):
        return UNKNOWN_TEXT
    if isinstance(value, dict):
        return {key: _worded(item) for key, item in value.items()}
    return [_worded(item) for item in value] if isinstance(value, list) else value


def _unknowns(value: Any) -> Value:
    if value == UNKNOWN_TEXT:
        return UNKNOWN
    if isinstance(value, dict):
        return {key: _unknowns(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unknowns(item) for item in value]
    return cast("Value", value)


def _change(old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> Change:
    if key not in old:
        return Change.ADD
    return Change.UPDATE if key in new else Change.DELETE
