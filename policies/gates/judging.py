"""What the rules say of manifests, at whatever gate: each rule inside a guard of its own.

A rule that reads a value that nobody knows yet is held up and no other; one that throws counts as
broken, and only its place is told, because its message may hold a value that nobody may print.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from traceback import extract_tb
from typing import cast

from policies.configuration import Configured, Exemption
from policies.gates.normal_form import NotKnownYet
from policies.language.encrypted import EncryptedText
from policies.language.facts import KEY as FACTS
from policies.language.rule import Level, Manifest, Rule

HIDDEN = "[secret]"  # as Pulumi shows one
SHORTEST_SECRET = 3  # as Pulumi's own log has it: what is shorter stands in any sentence


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one rule says of one resource, or of a whole stack.

    `sentences` are full ones. `level` is mandatory where it stops; an exempt finding never does.
    `exemption` is the one of the resource, expired or not.
    """

    rule: Rule
    level: Level
    sentences: tuple[str, ...]
    exemption: Exemption | None = None
    exempt: bool = False
    broken: bool = True
    """Whether the rule has judged and said no, rather than failed or waited for a value."""


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
    """Asks the rules about one resource and says what they find in paragraphs, see `findings`."""
    verdict = Verdict()
    for found in findings(manifest, rules, subject=subject, today=today, stack=stack):
        said = verdict.mandatory if found.level == "mandatory" else verdict.advisory
        said.append(_paragraph(found))
    return verdict


def findings(
    manifest: Manifest,
    rules: Iterable[Configured],
    *,
    subject: str,
    today: date,
    stack: Sequence[Manifest] | None = None,
) -> Iterator[Finding]:
    """Asks the rules about one resource; a rule that throws counts as broken.

    With a `stack`, the resources around it, those rules are asked that look across them, else those
    that look at one alone. `subject` names the resource where the manifest cannot.
    """
    day = today.isoformat()
    for configured in rules:
        asked = _asked(configured, manifest, stack, day)
        if asked is None or configured.level == "disabled":
            continue
        found = _found(configured, asked, manifest, subject, today)
        if found is not None:
            yield found


def _found(
    configured: Configured,
    asked: Callable[[], list[str]],
    manifest: Manifest,
    subject: str,
    today: date,
) -> Finding | None:
    rule, level = configured.rule, configured.level
    try:
        sentences = _without_secrets(asked(), manifest)
        exemption = configured.exemption(manifest) if sentences else None
    except NotKnownYet as unknown:
        why = f"{subject} is not checked until up, because {unknown.path} is not known at preview."
        return Finding(rule=rule, level="advisory", sentences=(why,), broken=False)
    except Exception as error:  # whatever a rule throws, the gate stays shut
        thrown = _thrown(rule, subject, error)
        return Finding(rule=rule, level=level, sentences=(thrown,), broken=False)
    if not sentences:
        return None
    exempt = exemption is not None and today <= exemption.until
    return Finding(
        rule=rule,
        level="advisory" if exempt else level,
        sentences=tuple(sentences),
        exemption=exemption,
        exempt=exempt,
    )


def _without_secrets(sentences: list[str], manifest: Manifest) -> list[str]:
    """The same without the texts of the manifest that Pulumi encrypts, whatever a rule has said."""
    secrets = sorted(set(_secrets(manifest)), key=len, reverse=True) if sentences else ()
    for secret in secrets:
        sentences = [sentence.replace(secret, HIDDEN) for sentence in sentences]
    return sentences


def _secrets(value: object) -> Iterator[str]:
    """By `type` alone, at which a value that is not known yet raises nothing."""
    kind = type(value)
    if kind is EncryptedText and len(cast("str", value)) >= SHORTEST_SECRET:
        yield str(value)
    elif issubclass(kind, dict):
        for member in cast("dict[str, object]", value).values():
            yield from _secrets(member)
    elif kind is list:
        for member in cast("list[object]", value):
            yield from _secrets(member)


def _asked(
    configured: Configured, manifest: Manifest, stack: Sequence[Manifest] | None, day: str
) -> Callable[[], list[str]] | None:
    rule = configured.rule
    if (rule.predicate if stack is None else rule.across) is None:
        return None
    settings = {**configured.settings, FACTS: configured.facts, "today": day}
    if stack is None:
        return rule.predicate and partial(rule.predicate, manifest, settings)
    return rule.across and partial(rule.across, manifest, settings, stack)


def _paragraph(found: Finding) -> str:
    rule = found.rule
    lines = [f"{rule.id}: {sentence}" for sentence in found.sentences]
    if not found.broken:
        return lines[0]
    if found.exemption is not None:
        lines.append(leave(found.exemption, exempt=found.exempt))
    return "\n".join([*lines, f"{rule.why} See {rule.source}"])


def leave(exemption: Exemption, *, exempt: bool) -> str:
    """Says until when an object is exempt, or was."""
    state = "is exempt until" if exempt else "was exempt until"
    return f"It {state} {exemption.until} ({exemption.owner}: {exemption.reason})."


def _thrown(rule: Rule, subject: str, error: Exception) -> str:
    """Names the place and not the message, which may hold a value that nobody may print."""
    place = extract_tb(error.__traceback__)[-1]
    return (
        f"the rule failed on {subject} with {type(error).__name__} at "
        f"{Path(place.filename).name}:{place.lineno}; a rule that fails counts as broken. "
        f"{rule.sentence}"
    )
