"""A simulated cloud: checks inputs as the real one does, and remembers what was made."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from rehearsal.providers.cloud import CloudObject
from rehearsal.providers.concealing import conceal_properties
from rehearsal.providers.contract import Checked, Difference, Failure, Refusal, State
from rehearsal.providers.difference import difference
from rehearsal.providers.kinds import Asked, Kind, public
from rehearsal.providers.naming import keeps_its_name, with_name
from rehearsal.providers.type_check import problems
from rehearsal.providers.values import Properties, Value, has_unknown, plain_properties, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rehearsal.providers.cloud import Cloud
    from rehearsal.providers.contract import Naming, Resource, Session

Lookup: TypeAlias = Callable[[Asked], Properties]


@dataclass(frozen=True, kw_only=True)
class Package:
    """What one simulated cloud offers: its resource types and its functions, by token."""

    name: str
    version: str
    kinds: Mapping[str, Kind]
    lookups: Mapping[str, Lookup]
    check_config: Callable[[Properties], Sequence[Failure]]


@dataclass(frozen=True)
class SimulatedProvider:
    """The provider of `content`, whose instances share one cloud: one project, one account."""

    content: Package
    cloud: Cloud = field(repr=False)

    @property
    def package(self) -> str:
        """`hcloud` or `aws`."""
        return self.content.name

    @property
    def version(self) -> str:
        """The version of the SDK that it stands in for."""
        return self.content.version

    def check_config(self, config: Properties) -> Sequence[Failure]:
        """What is wrong with the arguments of `Provider(...)`."""
        return self.content.check_config(plain_properties(config))

    def diff_config(self, old: Properties, new: Properties) -> Difference:
        """A changed configuration never replaces what was made with the old one."""
        return difference(old, new)

    def configure(self, session: Session) -> SimulatedInstance:
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
    ) -> Checked:
        """Holds inputs against the SDK's types and the cloud's rules; names what is unnamed."""
        kind = self.content.kinds.get(resource.type)
        if kind is None:
            return Checked(inputs=new, failures=[_unsupported(resource, self.content)])
        failures = list(problems(kind.shape, new))
        wrong = {failure.path for failure in failures}
        failures += [
            failure
            for rule in kind.rules
            for failure in rule.failures(new)
            if failure.path not in wrong
        ]
        if failures:
            return Checked(inputs=new, failures=failures)
        named = with_name(kind.auto_name, resource, old, new, naming)
        asked = self._asked(named)
        return Checked(
            inputs=named,
            failures=[failure for judge in kind.judges for failure in judge(asked)],
        )

    def diff(self, resource: Resource, state: State, new: Properties) -> Difference:
        """What changes, and whether the real provider would replace the object for it."""
        kind = self._kind(resource)
        return difference(
            state.inputs,
            new,
            replace_on=kind.replace_on,
            fixed_name=keeps_its_name(kind.auto_name, state.inputs, new),
        )

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool, timeout_s: float
    ) -> tuple[str, Properties]:
        """Makes the object; in a preview, says what is known of it."""
        del timeout_s
        kind = self._kind(resource)
        asked = self._asked(inputs)
        if preview:
            return "", conceal_properties(kind.previewed(asked), inputs)
        with self.cloud.lock:
            self._admit(kind, resource, asked)
            asked = self._asked(inputs, kind.identify(asked))
            self._keep(kind, resource, asked)
            return asked.id, conceal_properties(kind.made(asked), inputs)

    def read(self, resource: Resource, state: State) -> State | None:
        """The object as the cloud has it; None when it is gone."""
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
        """Changes the object; what the cloud decided before stays as it was."""
        del timeout_s
        kind = self._kind(resource)
        asked = self._asked(new, state.id)
        if preview and has_unknown(dict(new)):
            before = plain_properties(state.outputs)
            return conceal_properties({**before, **public(asked.inputs), **kind.known(asked)}, new)
        with self.cloud.lock:
            if not preview:
                self._admit(kind, resource, asked)
                self._keep(kind, resource, asked)
            return conceal_properties(kind.made(asked), new)

    def delete(self, resource: Resource, state: State, *, timeout_s: float) -> None:
        """Removes the object; one that is gone already is fine."""
        del timeout_s
        self.cloud.remove(resource.type, state.id)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """Answers a function of the SDK, or refuses it by name."""
        lookup = self.content.lookups.get(token)
        if lookup is None:
            known = ", ".join(sorted(self.content.lookups))
            raise Refusal(
                f"{token} cannot be rehearsed: the stand-in answers {known}.", summary="unknown"
            )
        return lookup(self._asked(arguments))

    def _kind(self, resource: Resource) -> Kind:
        kind = self.content.kinds.get(resource.type)
        if kind is None:
            raise Refusal(_unsupported(resource, self.content).sentence, summary="unknown type")
        return kind

    def _asked(self, inputs: Properties, id_: str = "") -> Asked:
        return Asked(inputs=plain_properties(inputs), cloud=self.cloud, config=self.config, id=id_)

    def _admit(self, kind: Kind, resource: Resource, asked: Asked) -> None:
        failures = [*_taken(kind, asked)]
        failures += [found for judge in (*kind.judges, *kind.admission) for found in judge(asked)]
        if failures:
            sentences = " ".join(failure.sentence for failure in failures)
            raise Refusal(
                f"{kind.name} {resource.name}: {sentences}",
                summary="refused: " + ", ".join(failure.path for failure in failures),
            )

    def _keep(self, kind: Kind, resource: Resource, asked: Asked) -> None:
        self.cloud.put(
            CloudObject(
                provider=self.content.name,
                type=kind.token,
                id=asked.id,
                name=resource.name,
                inputs=asked.inputs,
                outputs=kind.made(asked),
            )
        )


def _unsupported(resource: Resource, content: Package) -> Failure:
    names = sorted(kind.name for kind in content.kinds.values())
    wanted = resource.type.rpartition(":")[2]
    nearest = difflib.get_close_matches(wanted, names, n=1)
    hint = f"the nearest is {nearest[0]}" if nearest else f"known are {', '.join(names)}"
    return Failure(
        path="",
        sentence=f"{resource.type} cannot be rehearsed: the stand-in of {content.name} does not "
        f"know this type; {hint}.",
    )


def _taken(kind: Kind, asked: Asked) -> Iterator[Failure]:
    others = [thing for thing in asked.cloud.all(kind.token) if thing.id != asked.id]
    for name in kind.unique:
        value: Value = asked.inputs.get(name)
        if value is not None and any(other.inputs.get(name) == value for other in others):
            yield Failure(
                path=name,
                sentence=f"{name} is {shown(value)}, which another {kind.name} of the account "
                f"already has.",
            )
