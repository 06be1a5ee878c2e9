"""Checks objects from files against the rules of an environment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from fleet.check.reading import STDIN, ReadObject, ReadResult
from fleet.sarif import Place
from policies.configuration import ConfiguredRule, Namespaces
from policies.exemptions import ExemptionStatus, exemption_statuses, expired
from policies.gates.judging import findings
from policies.language.facts import NONE
from policies.language.manifest import at, mapping
from policies.language.owners import believed, key
from policies.language.pods import remembered
from policies.language.stack import Stack
from policies.language.unjudged import unjudged
from policies.verdicts import Finding, Resource, Verdict, as_json, verdicts

STACK_FILE = "stacks/Pulumi.{}.yaml"


@dataclass(frozen=True, kw_only=True)
class Unjudged:
    """An object, and what of it no rule judges, or none before its pods are made."""

    resource: Resource
    what: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is not judged, in full sentences."""
        return tuple(
            f"{self.resource} is judged in part alone; not judged: {each}." for each in self.what
        )


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The result of a check. `strict`: what could not be judged counts as broken."""

    environment: str
    objects: int
    others: int  # documents that are no Kubernetes objects
    verdicts: tuple[Verdict, ...]  # of the rules that found something
    exemptions: tuple[ExemptionStatus, ...]
    unreadable: tuple[str, ...]
    unjudged: tuple[Unjudged, ...] = ()
    left: tuple[str, ...] = ()
    """What was not looked into, in sentences: a chart that nobody rendered."""
    strict: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, sorted by place."""
        found = (finding for verdict in self.verdicts for finding in verdict.findings)
        return tuple(sorted(found, key=lambda one: (self.place(one), one.rule, one.sentences)))

    @property
    def code(self) -> int:
        """The exit code: 2 if something is unreadable, 1 if a rule blocks an object, else 0.

        If strict, also 1 if something was not looked into, or asks for GPUs and could not be
        judged.
        """
        if self.unreadable:
            return 2
        violated = any(verdict.state == "violated" for verdict in self.verdicts)
        return int(violated or (self.strict and bool(self.unjudged or self.left)))

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**as_json(self), "holds": self.code == 0}

    def place(self, finding: Finding) -> Place:
        """Returns file and line of an object; an expired exemption is in the stack file."""
        resource = finding.resource
        if resource is None:
            return STACK_FILE.format(self.environment), 1
        return resource.file, resource.line

    def sarif_place(self, finding: Finding) -> Place:
        """Returns the place for code scanning: a Helm template's path, never standard input."""
        resource = finding.resource
        if resource is None or resource.file != STDIN:
            return self.place(finding)
        return (resource.template, 1) if resource.template else ("stdin", resource.line)


def check(
    environment: str,
    rules: Sequence[ConfiguredRule],
    read: ReadResult,
    today: date | None = None,
    *,
    strict: bool = False,
) -> Checked:
    """Checks objects against the rules as the environment configures them.

    Exemptions end relative to `today`, by default the date in UTC.
    """
    today = today or datetime.now(UTC).date()
    rendered = frozenset(read.rendered)
    found = [*_findings(read.objects, rules, today), *expired(rules, today)]
    return Checked(
        environment=environment,
        objects=len(read.objects),
        others=read.others,
        verdicts=tuple(one for one in verdicts(rules, found) if one.findings),
        exemptions=exemption_statuses(rules, found, today),
        unreadable=tuple(read.unreadable),
        unjudged=tuple(each for each in _unjudged(read, rules) if each.resource not in rendered),
        left=tuple(read.left),
        strict=strict,
    )


def _unjudged(read: ReadResult, rules: Sequence[ConfiguredRule]) -> Iterator[Unjudged]:
    facts = rules[0].facts if rules else NONE
    for each in read.objects:
        if what := unjudged(each.manifest, facts):
            yield Unjudged(resource=each.resource, what=tuple(what))


def _findings(
    objects: Sequence[ReadObject], rules: Sequence[ConfiguredRule], today: date
) -> Iterator[Finding]:
    there = {key(each.manifest) for each in objects}
    every = Stack(believed(each.manifest, there) for each in objects)
    namespaces: Namespaces = {
        str(at(each, "metadata", "name")): mapping(at(each, "metadata", "labels"))
        for each in every
        if each.get("kind") == "Namespace"
    }
    judge = partial(findings, rules=rules, today=today, namespaces=namespaces)
    with remembered():
        for each, manifest in zip(objects, every, strict=True):
            for stack in (None, every):
                yield from judge(manifest, resource=each.resource, stack=stack)
