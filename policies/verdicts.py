"""Findings of rules as data, for the preview, a rehearsal, `fleet check` and SARIF."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args

from engine import findings_log
from policies.configuration import ConfiguredRule, Exemption
from policies.language.rule import Level

State = Literal["violated", "advisory", "exempt", "not checked", "disabled", "held"]
"""Worst first. Only `violated` stops.

`advisory` and `exempt` are violations that stop nothing, `not checked` waits for a value that is
not known before an update, `disabled` was not asked, `held` was asked and found nothing.
"""
WORST_FIRST: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, kw_only=True)
class Resource:
    """The subject of a finding: a resource of a stack, with `urn`, or an object of a file.

    `kind` is the object's kind, or the last word of a Pulumi type; `name` is the name in the
    program or in `metadata`. `line` counts from 1; `template` is the file of a chart from which
    Helm made the object.
    """

    kind: str
    name: str
    urn: str = ""
    file: str = ""
    line: int = 0
    template: str = ""

    @property
    def path(self) -> str:
        """Kind and name as an exemption has them: `NodePool/burst`."""
        return f"{self.kind}/{self.name}"

    def __str__(self) -> str:
        """Kind and name as sentences have them: `NodePool 'burst'`."""
        return f"{self.kind} '{self.name}'"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one rule for one resource, in full sentences.

    `resource` is None where the rule's settings themselves are at fault: an exemption has ended.
    `exemption` is the resource's own, expired or not. `unknown` is the path of the value for which
    the rule waits. `failed` says that the rule threw instead of judging: that is a violation, too.
    `keys` are what to change in the stack file, without the project's name in front; `{pool}` in
    one stands for `pool`, the id of the resource's pool.
    """

    rule: str
    level: Level
    state: State
    resource: Resource | None
    sentences: tuple[str, ...]
    exemption: Exemption | None = None
    unknown: str = ""
    failed: bool = False
    pool: str = ""
    keys: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """Its sentences, each with the rule in front."""
        return tuple(f"{self.rule}: {sentence}" for sentence in self.sentences)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Finding":
        """Returns what `as_json` has written."""
        resource, exemption = data["resource"], data["exemption"]
        if exemption is not None:
            exemption = Exemption(**{**exemption, "until": date.fromisoformat(exemption["until"])})
        return cls(
            **{
                **data,
                "resource": None if resource is None else Resource(**resource),
                "sentences": tuple(data["sentences"]),
                "exemption": exemption,
                "keys": tuple(data["keys"]),
            }
        )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A rule, its level in the environment, and its findings, the worst first."""

    rule: str
    sentence: str
    why: str
    source: str
    level: Level
    state: State  # of the worst finding
    findings: tuple[Finding, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the worst findings, each once."""
        return self._sentences(self.state)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The sentences on what cannot be judged before the update."""
        return self._sentences("not checked")

    def _sentences(self, state: State) -> tuple[str, ...]:
        of_state = (finding for finding in self.findings if finding.state == state)
        return tuple(sorted({sentence for finding in of_state for sentence in finding.sentences}))


def verdicts(
    configured: Iterable[ConfiguredRule], findings: Iterable[Finding]
) -> tuple[Verdict, ...]:
    """Returns the verdict of every rule, in the order of the rules."""
    of_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        of_rule.setdefault(finding.rule, []).append(finding)
    return tuple(_verdict(each, of_rule.get(each.rule.id, [])) for each in configured)


def _verdict(configured: ConfiguredRule, findings: Iterable[Finding]) -> Verdict:
    rule = configured.rule
    found = sorted(findings, key=lambda one: (WORST_FIRST.index(one.state), one.sentences))
    quiet: State = "disabled" if configured.level == "disabled" else "held"
    return Verdict(
        rule=rule.id,
        sentence=rule.sentence,
        why=rule.why,
        source=rule.source,
        level=configured.level,
        state=found[0].state if found else quiet,
        findings=tuple(found),
    )


@dataclass(frozen=True, kw_only=True)
class PackFindings:
    """The findings of one preview or update, each once, and the names of the packs that ran."""

    packs: frozenset[str]
    findings: tuple[Finding, ...]

    @property
    def stopping(self) -> tuple[Finding, ...]:
        """The findings that stop the preview or the update."""
        return tuple(finding for finding in self.findings if finding.state == "violated")


def read_log(path: Path, *, preview: bool) -> PackFindings:
    """Reads the findings log of a preview, or of an update."""
    read = tuple(findings_log.entries(path, preview=preview))
    found = (Finding.from_json(entry.finding) for entry in read if entry.finding is not None)
    return PackFindings(
        packs=frozenset(entry.pack for entry in read), findings=tuple(dict.fromkeys(found))
    )


def as_json(thing: Any) -> dict[str, Any]:
    """Returns a dataclass with all that is in it as plain data, days as text."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(thing), default=date.isoformat))
    return plain
