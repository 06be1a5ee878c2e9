"""Compares the verdicts of rules on two versions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from policies.verdicts import Finding, State, Verdict
from settings.names import PROJECT

Kind = Literal["broken", "warned", "still broken", "mended", "changed"]
"""`broken` and `warned` (of advisory rules) are the change's, `changed` is what a setting exempts,
switches off or on, or makes a warning."""
FAILS: tuple[State, ...] = ("violated", "advisory")
KINDS: Mapping[State, Kind] = {"violated": "broken", "advisory": "warned"}


@dataclass(frozen=True, kw_only=True)
class RuleChange:
    """A rule whose verdict another version changes, or that is broken in both."""

    rule: str
    kind: Kind
    before: State
    after: State
    sentences: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()  # what to change in the stack file


def rule_changes(
    before: Sequence[Verdict], after: Sequence[Verdict], titles: Mapping[str, str]
) -> tuple[RuleChange, ...]:
    """Returns the rules whose verdicts differ; `titles` are the names of pools by id."""
    old = {verdict.rule: verdict for verdict in before}
    found = (_change(old.get(verdict.rule), verdict, titles) for verdict in after)
    return tuple(change for change in found if change is not None)


def _change(old: Verdict | None, new: Verdict, titles: Mapping[str, str]) -> RuleChange | None:
    state: State = "held" if old is None else old.state
    if new.state in FAILS:
        failed = [] if old is None or state not in FAILS else [*_failing(old)]
        failing = [*_failing(new)]
        worse = len(failing) > len(failed) or (new.state == "violated" and state == "advisory")
        told = failing
        if len(failing) > len(failed):
            there = {finding.resource for finding in failed}
            told = [finding for finding in failing if finding.resource not in there]
        elif not worse and new.state == "advisory":
            return None
        return RuleChange(
            rule=new.rule,
            kind=KINDS[new.state] if worse else "still broken",
            before=state,
            after=new.state,
            sentences=tuple(dict.fromkeys(text for each in told for text in each.sentences)),
            keys=tuple(dict.fromkeys(key for each in told for key in _keys(each, titles))),
        )
    if state == new.state or {state, new.state} == {"held", "not checked"}:
        return None
    quiet = new.state in ("held", "not checked")
    kind: Kind = "mended" if state in FAILS and quiet else "changed"
    return RuleChange(rule=new.rule, kind=kind, before=state, after=new.state)


def _failing(verdict: Verdict) -> Iterator[Finding]:
    yield from (finding for finding in verdict.findings if finding.state == verdict.state)


def _keys(finding: Finding, titles: Mapping[str, str]) -> Iterator[str]:
    pool = titles.get(finding.pool, finding.pool)
    yield from (f"{PROJECT}:{key.format(pool=pool)}" for key in finding.keys)
