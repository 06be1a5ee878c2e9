"""A provider of a simulated cloud: checks inputs as the real one does and keeps the objects."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rehearsal.errors import RefusedError
from rehearsal.providers.cloud import Cloud, CloudObject
from rehearsal.providers.contract import (
    CheckResult,
    Failure,
    Naming,
    PropertyDifference,
    Resource,
    Session,
    State,
)
from rehearsal.providers.difference import difference
from rehearsal.providers.naming import keeps_its_name, with_name
from rehearsal.providers.secrets import conceal_properties
from rehearsal.providers.simulated_type import CloudRequest, SimulatedType, public
from rehearsal.providers.type_check import problems
from rehearsal.providers.values import Properties, has_unknown, plain_properties, shown

Lookup: TypeAlias = Callable[[CloudRequest], Properties]


@dataclass(frozen=True, kw_only=True)
class Package:
    """The content of one simulated cloud: its resource types and its functions, by token."""

    name: str
    version: str
    types: Mapping[str, SimulatedType]
    lookups: Mapping[str, Lookup]
    check_config: Callable[[Properties], Sequence[Failure]]


@dataclass(frozen=True)
class SimulatedProvider:
    """The provider of one simulated cloud; its instances share one project or account."""

    content: Package
    cloud: Cloud = field(repr=False)

    @property
    def package(self) -> str:
        """`hcloud` or `aws`."""
        return self.content.name

    @property
    def version(self) -> str:
        """The version of the SDK, as the real provider has it."""
        return self.content.version

    def check_config(self, config: Properties) -> Sequence[Failure]:
        """Checks the arguments of `Provider(...)`."""
        return self.content.check_config(plain_properties(config))

    def diff_config(self, old: Properties, new: Properties) -> PropertyDifference:
        """A changed configuration replaces nothing."""
        return difference(old, new)

    def configure(self, session: Session) -> "SimulatedInstance":
        """The instance for one `Provider(...)`."""
        return SimulatedInstance(
            content=self.content, cloud=self.cloud, config=plain_properties(session.config)
        )


@dataclass(frozen=True, kw_only=True)
class SimulatedInstance:
    """One configured provider of a simulated cloud."""

    content: Package
    cloud: Cloud = field(repr=False)
    config: Properties = field(repr=False)

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> CheckResult:
        """Checks inputs against the SDK's types and the cloud's rules; fills in a missing name."""
        simulated = self.content.types.get(resource.type)
        if simulated is None:
            return CheckResult(inputs=new, failures=[_unsupported(resource, self.content)])
        failures = list(problems(simulated.shape, new))
        wrong = {failure.path for failure in failures}
        failures += [
            failure
            for check in simulated.input_checks
            for failure in check.failures(new)
            if failure.path not in wrong
        ]
        if failures:
            return CheckResult(inputs=new, failures=failures)
        named = with_name(simulated.auto_name, resource, old, new, naming)
        request = self._request(named)
        return CheckResult(
            inputs=named,
            failures=[failure for check in simulated.cross_checks for failure in check(request)],
        )

    def diff(self, resource: Resource, state: State, new: Properties) -> PropertyDifference:
        """The changed inputs, and those for which the real provider replaces the object."""
        simulated = self._type(resource)
        return difference(
            state.inputs,
            new,
            replace_on=simulated.replace_on,
            fixed_name=keeps_its_name(simulated.auto_name, state.inputs, new),
        )

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool, timeout_s: float
    ) -> tuple[str, Properties]:
        """Creates the object; in a preview, returns its outputs as far as they are known."""
        del timeout_s
        simulated = self._type(resource)
        request = self._request(inputs)
        if preview:
            return "", conceal_properties(simulated.previewed(request), inputs)
        with self.cloud.lock:
            self._admit(simulated, resource, request)
            request = self._request(inputs, simulated.identify(request))
            self._keep(simulated, resource, request)
            return request.id, conceal_properties(simulated.made(request), inputs)

    def read(self, resource: Resource, state: State) -> State | None:
        """The object in the cloud; None when it is gone."""
        thing = self.cloud.get(resource.type, state.id)
        if thing is None:
            return None
        return State(
            id=thing.id,
            inputs=conceal_properties(thing.inputs, state.inputs),
            outputs=conceal_properties(thing.outputs, {**state.outputs, **state.inputs}),
        )

    def update(
        self,
        resource: Resource,
        state: State,
        new: Properties,
        *,
        preview: bool,
        timeout_s: float,
    ) -> Properties:
        """Changes the object; values that the cloud decided before stay."""
        del timeout_s
        simulated = self._type(resource)
        request = self._request(new, state.id)
        if preview and has_unknown(dict(new)):
            before = plain_properties(state.outputs)
            return conceal_properties(
                {**before, **public(request.inputs), **simulated.known(request)}, new
            )
        with self.cloud.lock:
            if not preview:
                self._admit(simulated, resource, request)
                self._keep(simulated, resource, request)
            return conceal_properties(simulated.made(request), new)

    def delete(self, resource: Resource, state: State, *, timeout_s: float) -> None:
        """Removes the object, if it is there."""
        del timeout_s
        self.cloud.remove(resource.type, state.id)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """Calls a function of the SDK; refuses an unknown one by name."""
        lookup = self.content.lookups.get(token)
        if lookup is None:
            known = ", ".join(sorted(self.content.lookups))
            raise RefusedError(
                f"{token} cannot be rehearsed: the stand-in answers {known}.", summary="unknown"
            )
        return lookup(self._request(arguments))

    def _type(self, resource: Resource) -> SimulatedType:
        simulated = self.content.types.get(resource.type)
        if simulated is None:
            raise RefusedError(
                _unsupported(resource, self.content).sentence, summary="unknown type"
            )
        return simulated

    def _request(self, inputs: Properties, id_: str = "") -> CloudRequest:
        return CloudRequest(
            inputs=plain_properties(inputs), cloud=self.cloud, config=self.config, id=id_
        )

    def _admit(self, simulated: SimulatedType, resource: Resource, request: CloudRequest) -> None:
        failures = [*_taken(simulated, request)]
        checks = (*simulated.cross_checks, *simulated.creation_checks)
        failures += [failure for check in checks for failure in check(request)]
        if failures:
            sentences = " ".join(failure.sentence for failure in failures)
            raise RefusedError(
                f"{simulated.name} {resource.name}: {sentences}",
                summary="refused: " + ", ".join(failure.path for failure in failures),
            )

    def _keep(self, simulated: SimulatedType, resource: Resource, request: CloudRequest) -> None:
        self.cloud.put(
            CloudObject(
                provider=self.content.name,
                type=simulated.token,
                id=request.id,
                name=resource.name,
                inputs=request.inputs,
                outputs=simulated.made(request),
            )
        )


def _unsupported(resource: Resource, content: Package) -> Failure:
    names = sorted(simulated.name for simulated in content.types.values())
    wanted = resource.type.rpartition(":")[2]
    nearest = difflib.get_close_matches(wanted, names, n=1)
    hint = f"the nearest is {nearest[0]}" if nearest else f"known are {', '.join(names)}"
    return Failure(
        path="",
        sentence=f"{resource.type} cannot be rehearsed: the stand-in of {content.name} does not "
        f"know this type; {hint}.",
    )


def _taken(simulated: SimulatedType, request: CloudRequest) -> Iterator[Failure]:
    others = [thing for thing in request.cloud.all(simulated.token) if thing.id != request.id]
    own = {**simulated.defaults, **request.inputs, **simulated.known(request)}
    for one in simulated.unique:
        if one.is_taken(own, others):
            yield Failure(
                path=one.property,
                sentence=f"{one.property} is {shown(own[one.property])}, which another "
                f"{simulated.name} of the account already has.",
            )
