"""The package `pulumi-python`: resources whose provider is Python code of the program.

The provider's own `check` and `diff` run, as in a real run. Its `create`, `read`, `update` and
`delete` run where they act inside lakeFS, on the twin's server, and all but `read` where they act
in the cluster. Others are only recorded, because a rehearsal has no server that they could call.
"""

import base64
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any, TypeVar, cast

import dill  # type: ignore[import-untyped]  # it ships no types
from pulumi.dynamic import Config, ConfigureRequest, ResourceProvider

from rehearsal import refusals
from rehearsal.errors import RefusedError
from rehearsal.lakefs_server import LakefsServer
from rehearsal.providers.cloud import Cloud, CloudObject
from rehearsal.providers.contract import (
    CheckResult,
    Failure,
    Naming,
    PropertyChange,
    PropertyDifference,
    Resource,
    Session,
    State,
)
from rehearsal.providers.secrets import conceal_properties
from rehearsal.providers.values import (
    UNKNOWN,
    UNKNOWN_TEXT,
    Properties,
    Unknown,
    Value,
    plain_properties,
)
from settings.names import PROJECT

T = TypeVar("T")
PACKAGE = "pulumi-python"
IN_CLUSTER = f"{PACKAGE}:dynamic/kube"
"""How the types begin whose providers ask the API server alone."""
IN_LAKEFS = f"{PACKAGE}:dynamic/lakefs"
"""How the types begin whose providers ask lakeFS alone."""
LOOK_EVERY_S = 0.2
PROVIDER = "__provider"
"""The property with the program's provider, pickled and in base64."""


@dataclass(frozen=True, kw_only=True)
class DynamicProvider:
    """The provider of all dynamic resources of a Python program."""

    cloud: Cloud = field(repr=False)
    lakefs: LakefsServer

    @property
    def package(self) -> str:
        """The package of their types."""
        return PACKAGE

    @property
    def version(self) -> str:
        """The version of the SDK that pickles the providers."""
        return version("pulumi")

    def check_config(self, config: Properties) -> Sequence[Failure]:
        """Accepts any configuration: the package has no arguments."""
        del config
        return ()

    def diff_config(self, old: Properties, new: Properties) -> PropertyDifference:
        """A changed configuration replaces nothing."""
        del old, new
        return PropertyDifference(changes={})

    def configure(self, session: Session) -> "DynamicInstance":
        """The instance; the engine hands it the whole configuration of the stack."""
        return DynamicInstance(
            cloud=self.cloud,
            lakefs=self.lakefs,
            config=plain_properties(session.config),
            cancelled=session.cancelled,
        )


@dataclass(frozen=True, kw_only=True)
class DynamicInstance:
    """Runs the program's providers and records their resources."""

    cloud: Cloud = field(repr=False)
    lakefs: LakefsServer
    config: Mapping[str, Any] = field(repr=False)
    cancelled: threading.Event

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> CheckResult:
        """Checks the inputs by the resource's own provider."""
        del naming
        answer = _provider(resource, new, old).check(_handed(old), _handed(new))
        inputs = {**_taken(answer.inputs or {}), PROVIDER: new[PROVIDER]}
        return CheckResult(
            inputs=conceal_properties(inputs, new),
            failures=[
                Failure(path=failure.property, sentence=failure.reason)
                for failure in answer.failures or ()
            ],
        )

    def diff(self, resource: Resource, state: State, new: Properties) -> PropertyDifference:
        """The changes and replacements that the resource's own provider finds."""
        old, wanted = _handed(state.outputs), _handed(new)
        answer = _provider(resource, new, state.outputs).diff(state.id, old, wanted)
        if answer.changes is False:
            return PropertyDifference(changes={})
        changed = {key for key in (*old, *wanted) if old.get(key) != wanted.get(key)}
        replaces = frozenset(answer.replaces or ())
        return PropertyDifference(
            changes={key: _change(old, wanted, key) for key in changed | replaces},
            replaces=replaces,
            delete_before_replace=bool(answer.delete_before_replace),
        )

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool, timeout_s: float
    ) -> tuple[str, Properties]:
        """Makes or records the resource; the outputs of a recorded one are its inputs."""
        del timeout_s
        if preview:
            return "", inputs
        if resource.type.startswith(IN_LAKEFS):
            made = self._in_lakefs(resource, inputs, lambda it, props: it.create(props))
            return str(made.id), self._held(resource, inputs, made.outs)
        if resource.type.startswith(IN_CLUSTER):
            provider = self._acting(resource, inputs)
            made = self._act(resource, inputs, lambda: provider.create(_handed(inputs)))
            # what the provider adds to its inputs, such as a value that it made
            added = {k: v for k, v in _taken(made.outs or {}).items() if k not in inputs}
            self._record(resource, resource.name, inputs)
            return resource.name, {**inputs, **added}
        self._record(resource, resource.name, inputs)
        return resource.name, inputs

    def read(self, resource: Resource, state: State) -> State | None:
        """The resource as lakeFS has it, or as recorded; None when it is gone."""
        if resource.type.startswith(IN_LAKEFS):
            known = state.outputs or state.inputs
            found = self._in_lakefs(resource, known, lambda it, props: it.read(state.id, props))
            if not found.id:
                return None
            return replace(state, outputs=self._held(resource, known, found.outs))
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
        """Changes the resource, or records the new inputs."""
        del timeout_s
        if preview:
            return new
        if resource.type.startswith(IN_LAKEFS):
            old = self.lakefs.there(resource.type, _handed(state.outputs))
            changed = self._in_lakefs(
                resource, new, lambda it, props: it.update(state.id, old, props)
            )
            return self._held(resource, new, changed.outs)
        if resource.type.startswith(IN_CLUSTER):
            provider, old = self._acting(resource, new), _handed(state.outputs)
            self._act(resource, new, lambda: provider.update(state.id, old, _handed(new)))
        self._record(resource, state.id, new)
        return new

    def delete(self, resource: Resource, state: State, *, timeout_s: float) -> None:
        """Deletes the resource, or its record."""
        del timeout_s
        if resource.type.startswith(IN_LAKEFS):
            self._in_lakefs(resource, state.outputs, lambda it, props: it.delete(state.id, props))
            return
        if resource.type.startswith(IN_CLUSTER):
            provider, held = self._acting(resource, state.outputs), _handed(state.outputs)
            self._act(resource, {}, lambda: provider.delete(state.id, held))
        self.cloud.remove(resource.type, state.id)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """Refuses every function: dynamic providers have none."""
        del arguments
        raise RefusedError(f"{token} cannot be rehearsed: nobody answers it.", summary="unknown")

    def _in_lakefs(
        self,
        resource: Resource,
        properties: Properties,
        ask: Callable[[ResourceProvider, dict[str, Any]], T],
    ) -> T:
        """Runs a method of the resource's provider on the twin's server."""
        provider = _provider(resource, properties, {})
        there = self.lakefs.there(resource.type, _handed(properties))
        return self._act(resource, {}, lambda: ask(provider, there))

    def _held(
        self, resource: Resource, given: Properties, held: Mapping[str, Any] | None
    ) -> Properties:
        """The outputs of a resource in lakeFS, in the program's words and as secret as before."""
        back = self.lakefs.back(resource.type, _handed(given), held or {})
        return conceal_properties({**_taken(back), PROVIDER: given[PROVIDER]}, given)

    def _acting(self, resource: Resource, properties: Properties) -> ResourceProvider:
        """The resource's provider with the configuration of the stack."""
        provider = _provider(resource, properties, {})
        config = Config(raw_config=dict(self.config), project_name=PROJECT)
        provider.configure(ConfigureRequest(config=config))
        return provider

    def _act(self, resource: Resource, inputs: Properties, act: Callable[[], T]) -> T:
        """Runs a provider's method; ends its wait where a machine that it waits for is refused."""
        outcome: Future[T] = Future()
        threading.Thread(target=_run, args=(act, outcome), daemon=True).start()
        given = plain_properties(inputs)
        names = given.get("nodes") or [given.get("node")]
        while not wait([outcome], timeout=LOOK_EVERY_S).done:
            if self.cancelled.is_set():
                raise RefusedError("Cancelled while waiting for the cluster.", summary="cancelled")
            for name, reason in refusals.read(self.cloud.directory).items():
                if isinstance(names, list) and name in names:
                    raise RefusedError(f"{name} did not come up: {reason}", summary="no boot")
        if error := outcome.exception():
            raise RefusedError(f"{resource.name}: {error}", summary=type(error).__name__)
        return outcome.result()

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


def _run(act: Callable[[], T], outcome: "Future[T]") -> None:
    try:
        outcome.set_result(act())
    except Exception as error:  # it is raised where the outcome is awaited
        outcome.set_exception(error)


def _provider(resource: Resource, new: Properties, old: Properties) -> ResourceProvider:
    """The provider that the program pickled; the old one where the new one is unknown."""
    for properties in (new, old):
        text = plain_properties(properties).get(PROVIDER)
        if isinstance(text, str):
            pickled = base64.b64decode(text)
            provider = dill.loads(pickled)  # noqa: S301  # the program that just ran wrote it
            return cast("ResourceProvider", provider)
    raise RefusedError(
        f"{resource.type} {resource.name} comes without its provider.", summary="no provider"
    )


def _handed(properties: Mapping[str, Value]) -> dict[str, Any]:
    """Properties as the SDK passes them to a provider: secrets clear, unknowns as their text."""
    opened = plain_properties(properties)
    return {key: _worded(value) for key, value in opened.items()}


def _taken(properties: Mapping[str, Any]) -> Properties:
    """The properties in a provider's answer."""
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


def _change(old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> PropertyChange:
    if key not in old:
        return PropertyChange.ADD
    return PropertyChange.UPDATE if key in new else PropertyChange.DELETE
