"""What the rules of an environment say of objects that were read from files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from fleet.sarif import Result
from policies.configuration import configure
from policies.exemptions import expired, leaves
from policies.gates.judging import findings
from policies.language.manifest import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from fleet.check.reading import Found, Read
    from fleet.sarif import SarifLevel
    from policies.configuration import Configured
    from policies.exemptions import Leave
    from policies.gates.judging import Finding
    from policies.language.rule import Rule

State = Literal["violated", "told", "exempt"]
LEVELS: Mapping[State, SarifLevel] = {"violated": "error", "told": "warning", "exempt": "note"}
STACK_FILE = "stacks/Pulumi.{}.yaml"


@dataclass(frozen=True, kw_only=True)
class Said:
    """One sentence of a rule. `told` stops nothing because the rule is advisory."""

    rule: Rule
    state: State
    sentence: str
    file: str
    line: int
    resource: str
    source: str | None = None
    leave: str = ""  # owner and reason of an exemption, expired or not

    def as_json(self) -> dict[str, Any]:
        """The same as plain data, with the rule's reason."""
        about = {"rule": self.rule.id, "why": self.rule.why, "see": self.rule.source}
        return {**asdict(self), **about}

    def as_sarif(self) -> Result:
        """The same for code scanning; what comes from standard input is said of the template."""
        elsewhere = self.file == "-"
        return Result(
            rule=self.rule,
            sentence=self.sentence,
            level=LEVELS[self.state],
            file=(self.source or "stdin") if elsewhere else self.file,
            line=1 if elsewhere and self.source else self.line,
            resource=self.resource,
            leave=self.leave if self.state == "exempt" else "",
        )


@dataclass(frozen=True, kw_only=True)
class Checked:
    """Everything that a check found."""

    environment: str
    objects: int
    others: int  # documents that are no Kubernetes objects
    said: tuple[Said, ...]
    exemptions: tuple[Leave, ...]
    unreadable: tuple[str, ...]

    @property
    def code(self) -> int:
        """2 where something could not be read, 1 where a rule stops it, else 0."""
        if self.unreadable:
            return 2
        return int(any(one.state == "violated" for one in self.said))

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            **{key: value for key, value in vars(self).items() if key != "said"},
            "holds": self.code == 0,
            "said": [one.as_json() for one in self.said],
            "exemptions": [asdict(one) for one in self.exemptions],
        }


def check(
    environment: str,
    policies: Mapping[str, Mapping[str, object]],
    read: Read,
    today: date | None = None,
) -> Checked:
    """Holds objects against the rules; `policies` are the rules' settings of the environment.

    `today` is the day by which exemptions end, this one in UTC unless given.
    """
    today = today or datetime.now(UTC).date()
    configured = configure(policies)
    stack = [each.manifest for each in read.objects]
    said: list[Said] = []
    used: set[tuple[str, str]] = set()
    for each in read.objects:
        for finding in _findings(each, configured, today, stack):
            said += _said(each, finding)
            if finding.exemption is not None:
                used.add((finding.rule.id, finding.exemption.resource))
    said += _over(environment, configured, today)
    return Checked(
        environment=environment,
        objects=len(read.objects),
        others=read.others,
        said=tuple(sorted(said, key=lambda one: (one.file, one.line, one.rule.id, one.sentence))),
        exemptions=leaves(configured, today, used),
        unreadable=tuple(read.unreadable),
    )


def _findings(
    found: Found,
    configured: Sequence[Configured],
    today: date,
    stack: Sequence[Mapping[str, object]],
) -> Iterator[Finding]:
    subject = describe(found.manifest)
    yield from findings(found.manifest, configured, subject=subject, today=today)
    yield from findings(found.manifest, configured, subject=subject, today=today, stack=stack)


def _said(found: Found, finding: Finding) -> Iterator[Said]:
    state: State = "violated" if finding.level == "mandatory" else "told"
    exemption = finding.exemption
    for sentence in finding.sentences:
        yield Said(
            rule=finding.rule,
            state="exempt" if finding.exempt else state,
            sentence=sentence,
            file=found.file,
            line=found.line,
            resource=found.resource,
            source=found.source,
            leave=f"{exemption.owner}: {exemption.reason}" if exemption else "",
        )


def _over(environment: str, configured: Iterable[Configured], today: date) -> Iterator[Said]:
    """Exemptions that have ended are mistakes of the stack file."""
    for rule, sentence in expired(configured, today):
        yield Said(
            rule=rule,
            state="violated",
            sentence=sentence,
            file=STACK_FILE.format(environment),
            line=1,
            resource="",
        )
