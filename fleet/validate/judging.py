"""Judges a stack file: its settings, then every rule by what the program would register."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.pools.boot import PoolError
from fleet.finding_place import place_of
from policies.environment import Environment, load
from policies.exemptions import exemption_note, expired
from policies.gates.judging import findings
from policies.verdicts import Finding
from settings import SettingsError
from settings.doubts import doubts
from settings.positions import Positions
from settings.problems import Mistake
from settings.stackfile import read

if TYPE_CHECKING:
    from fleet.validate.program import Program


@dataclass(frozen=True, kw_only=True)
class Validated:
    """What is wrong with an environment; each sentence begins with file and line.

    `rules` are those that hold, `waiting` those that wait for a value that only a cloud knows: the
    preview has it.
    """

    environment: str
    mistakes: tuple[str, ...]
    broken: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    rules: int = 0
    waiting: tuple[str, ...] = ()
    resources: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing would stop a preview."""
        return not self.mistakes and not self.broken

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "environment": self.environment,
            "holds": self.holds,
            "mistakes": list(self.mistakes),
            "broken": list(self.broken),
            "warnings": list(self.warnings),
            "rules": self.rules,
            "waiting": list(self.waiting),
            "resources": self.resources,
        }


def validate(path: Path, today: date | None = None) -> Validated:
    """Return what is wrong with the stack file at a path."""
    name = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    try:
        environment = load(path)
    except SettingsError as error:
        return Validated(environment=name, mistakes=error.mistakes)
    document, lines = read(path)
    from fleet.validate.program import program  # noqa: PLC0415  # a second of imports

    try:
        made = program(environment)
    except (SettingsError, PoolError) as error:
        return Validated(environment=name, mistakes=tuple(str(error).splitlines()))
    found = [*judge(environment, made, today or datetime.now(UTC).date())]
    said = _Located(environment=environment, lines=lines)
    on = {one.rule.id for one in environment.rules if one.level != "disabled"}
    return Validated(
        environment=name,
        mistakes=(),
        broken=tuple(said.sentences(found, "violated")),
        warnings=(
            *lines.located(doubts(document, environment.settings)),
            *said.sentences(found, "advisory"),
            *made.warnings,
        ),
        rules=len(on.difference(one.rule for one in found)),
        waiting=tuple(sorted({one.rule for one in found if one.state == "not checked"})),
        resources=len(made.resources),
    )


def judge(environment: Environment, made: "Program", today: date) -> Iterator[Finding]:
    """Yield the findings of the rules of an environment for what its program registers."""
    stack = [each.manifest for each in made.resources]
    for each in made.resources:
        for around in (None, stack):
            yield from findings(
                each.manifest, environment.rules, resource=each.resource, today=today, stack=around
            )
    yield from expired(environment.rules, today)


@dataclass(frozen=True, kw_only=True)
class _Located:
    """Sentences about rules, each with the line of the key, the pool or the rule's settings."""

    environment: Environment
    lines: Positions

    def sentences(self, found: list[Finding], state: str) -> Iterator[str]:
        """Yield the sentences of findings in a state, each once."""
        titles = {id_: pool.title for id_, pool in self.environment.settings.pools.items()}
        told = [one for one in found if one.state == state]
        each = (
            Mistake(
                f"{one.rule}: {sentence}{_note(one)}", "", place=place_of(one, titles, self.lines)
            )
            for one in told
            for sentence in one.sentences
        )
        yield from self.lines.located(dict.fromkeys(each))


def _note(finding: Finding) -> str:
    note = exemption_note(finding)
    return f" {note}" if note else ""
