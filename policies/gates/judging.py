"""What the rules say of manifests, at whatever gate: each rule inside a guard of its own.

A rule that reads a value that nobody knows yet is held up and no other; one that throws counts as
broken, and only its place is told, because its message may hold a value that nobody may print.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from traceback import extract_tb

from policies.configuration import Configured, Exemption
from policies.gates.normal_form import NotKnownYet
from policies.rules.rule import Manifest, Rule


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the rules say of one resource or of a whole stack, one paragraph a rule."""

    mandatory: list[str] = field(default_factory=list)
    advisory: list[str] = field(default_factory=list)


def judge(
    manifest: Manifest,
    rules: Iterable[Configured],
    *,
    subject: str,
    today: date,
    stack: Sequence[Manifest] | None = None,
) -> Verdict:
    """Asks the rules about one resource; a rule that throws counts as broken.

    With a `stack`, the resources around it, those rules are asked that look across them, else those
    that look at one alone. `subject` names the resource where the manifest cannot.
    """
    verdict = Verdict()
    for configured in rules:
        asked = _asked(configured, manifest, stack)
        if asked is None or configured.level == "disabled":
            continue
        rule = configured.rule
        said = verdict.mandatory if configured.level == "mandatory" else verdict.advisory
        try:
            broken = asked()
            exemption = configured.exemption(manifest) if broken else None
        except NotKnownYet as unknown:
            verdict.advisory.append(
                f"{rule.id}: {subject} is not checked until up, because {unknown.path} is not "
                "known at preview."
            )
        except Exception as error:  # whatever a rule throws, the gate stays shut
            said.append(_thrown(rule, subject, error))
        else:
            exempt = exemption is not None and today <= exemption.until
            if broken:
                report = verdict.advisory if exempt else said
                report.append(_paragraph(rule, broken, exemption, exempt=exempt))
    return verdict


def _asked(
    configured: Configured, manifest: Manifest, stack: Sequence[Manifest] | None
) -> Callable[[], list[str]] | None:
    rule = configured.rule
    if stack is None:
        return rule.predicate and partial(rule.predicate, manifest, configured.settings)
    return rule.across and partial(rule.across, manifest, configured.settings, stack)


def _paragraph(rule: Rule, broken: list[str], exemption: Exemption | None, *, exempt: bool) -> str:
    lines = [f"{rule.id}: {sentence}" for sentence in broken]
    if exemption is not None:
        state = "is exempt until" if exempt else "was exempt until"
        lines.append(f"It {state} {exemption.until} ({exemption.owner}: {exemption.reason}).")
    return "\n".join([*lines, f"{rule.why} See {rule.source}"])


def _thrown(rule: Rule, subject: str, error: Exception) -> str:
    """Names the place and not the message, which may hold a value that nobody may print."""
    place = extract_tb(error.__traceback__)[-1]
    return (
        f"{rule.id}: the rule failed on {subject} with {type(error).__name__} at "
        f"{Path(place.filename).name}:{place.lineno}; a rule that fails counts as broken. "
        f"{rule.sentence}"
    )
