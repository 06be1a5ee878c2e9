"""Runs the rules on manifests. A rule that fails does not keep the others from running.

A rule that reads a value not known yet is "not checked". One that raises counts as broken; only the
place of the error is reported, because its message may hold a secret.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from traceback import extract_tb
from typing import cast

from policies.configuration import NO_ONE, ConfiguredRule, Namespaces
from policies.exemptions import exemption_note
from policies.gates.unknown import NotKnownYet
from policies.language.facts import KEY as FACTS
from policies.language.inventory import pool_of
from policies.language.manifest import EncryptedText
from policies.language.pods import remembered
from policies.language.rule import Level, Manifest, Rule, Settings
from policies.language.unjudged import unjudged
from policies.rules.idle import job_deadline
from policies.verdicts import Finding, Resource, State

HIDDEN = "[secret]"  # as Pulumi shows one
_PERHAPS = "{0} counts as not exempt, as its namespace is not among what is judged: {1}."
_NO_SENTENCES = (
    "the predicate of {0} answers with {2} on {1}; allowed: a list of sentences, empty for what "
    "keeps the rule. Such a rule counts as broken. {3}"
)
SHORTEST_SECRET = 3  # as Pulumi's own log has it: what is shorter stands in any sentence


def findings(  # noqa: PLR0913  # what may be said of a resource and of what is around it
    manifest: Manifest,
    rules: Iterable[ConfiguredRule],
    *,
    resource: Resource,
    today: date,
    stack: Sequence[Manifest] | None = None,
    namespaces: Namespaces = NO_ONE,
) -> list[Finding]:
    """Return the findings of the rules for one resource; a rule that raises counts as broken.

    With a `stack`, the resources around it, the rules across a stack run, else those that read one
    resource alone. `namespaces` are those whose labels are known.
    """
    day = today.isoformat()
    judged = _Judged(manifest=manifest, resource=resource, today=today, namespaces=namespaces)
    found = []
    with remembered():
        for configured in rules:
            asked = _asked(configured, manifest, stack, day)
            if asked is not None and configured.level != "disabled":
                found.append(_found(configured, asked, judged))
    return [finding for finding in found if finding is not None]


def left_unjudged(
    manifest: Manifest, rules: Iterable[ConfiguredRule], resource: Resource
) -> Iterator[Finding]:
    """Yield a finding of the rule on deadlines for what no rule can judge, or not wholly."""
    for configured in rules:
        if configured.rule.id == job_deadline.ID and configured.level != "disabled":
            try:
                what = unjudged(manifest, configured.facts)
            except NotKnownYet:  # of which the rules tell
                return
            if what:
                yield Finding(
                    rule=configured.rule.id,
                    level=configured.level,
                    state="not checked",
                    resource=resource,
                    sentences=tuple(
                        f"{resource} is judged in part alone; not judged: {it}." for it in what
                    ),
                )


def paragraph(finding: Finding, rule: Rule) -> str:
    """A finding for people who read what Pulumi prints; nothing of ours reads it back."""
    lines = [f"{rule.id}: {sentence}" for sentence in finding.sentences]
    if finding.resource is None or finding.failed or finding.state == "not checked":
        return "\n".join(lines)
    note = exemption_note(finding)
    return "\n".join([*lines, *filter(None, [note]), f"{rule.why} See {rule.source}"])


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """What is judged, on which day, and the namespaces that are known."""

    manifest: Manifest
    resource: Resource
    today: date
    namespaces: Namespaces


def _found(
    configured: ConfiguredRule, asked: Callable[[], list[str]], judged: _Judged
) -> Finding | None:
    rule, manifest, resource = configured.rule, judged.manifest, judged.resource
    level = _level(configured, manifest)
    state: State = "violated" if level == "mandatory" else "advisory"
    finding = partial(Finding, rule=rule.id, level=level, resource=resource)
    try:
        answer = asked()
        if not _are_sentences(answer):
            wrong = _NO_SENTENCES.format(rule.id, resource, type(answer).__name__, rule.sentence)
            return finding(state=state, sentences=(wrong,), failed=True)
        sentences = _without_secrets(answer, manifest)
        exemption = configured.exemption(manifest, judged.namespaces) if sentences else None
        perhaps = configured.perhaps(manifest, judged.namespaces) if sentences else None
        keys = _keys(configured, judged) if sentences else ()
    except NotKnownYet as unknown:
        path = unknown.path
        why = f"{resource} is not checked until up, because {path} is not known at preview."
        return finding(state="not checked", sentences=(why,), unknown=path)
    except Exception as error:  # whatever a rule throws, the gate stays shut
        return finding(state=state, sentences=(_thrown(rule, resource, error),), failed=True)
    if not sentences:
        return None
    if exemption is not None and judged.today <= exemption.until:
        state = "exempt"
    elif perhaps is not None and exemption is None:
        sentences.append(_PERHAPS.format(resource, perhaps.whom))
    return finding(
        state=state,
        sentences=tuple(sentences),
        exemption=exemption,
        pool=pool_of(manifest) if keys else "",
        keys=keys,
    )


def _are_sentences(answer: object) -> bool:
    """Return whether a predicate, perhaps somebody's own, answers with texts in a list."""
    return isinstance(answer, list) and all(isinstance(each, str) for each in answer)


def _level(configured: ConfiguredRule, manifest: Manifest) -> Level:
    """The level in the namespace of an object; a rule without exceptions does not look."""
    if configured.advisory_in and configured.level == "mandatory":
        metadata = manifest.get("metadata")
        namespace = metadata.get("namespace") if type(metadata) is dict else None
        if type(namespace) is str and namespace in configured.advisory_in:
            return "advisory"
    return configured.level


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
    configured: ConfiguredRule, manifest: Manifest, stack: Sequence[Manifest] | None, day: str
) -> Callable[[], list[str]] | None:
    rule = configured.rule
    if (rule.predicate if stack is None else rule.across) is None:
        return None
    settings = _settings(configured, day)
    if stack is None:
        return rule.predicate and partial(rule.predicate, manifest, settings)
    return rule.across and partial(rule.across, manifest, settings, stack)


def _settings(configured: ConfiguredRule, day: str) -> Settings:
    return {**configured.settings, FACTS: configured.facts, "today": day}


def _keys(configured: ConfiguredRule, judged: _Judged) -> tuple[str, ...]:
    """What to change in the stack file; nothing for an object that the stack did not make."""
    if configured.rule.keys is None or not judged.resource.urn:
        return ()
    pool = pool_of(judged.manifest)
    settings = _settings(configured, judged.today.isoformat())
    keys = configured.rule.keys(judged.manifest, settings)
    return tuple(dict.fromkeys(key for key in keys if pool or "{pool}" not in key))


def _thrown(rule: Rule, resource: Resource, error: Exception) -> str:
    """Names the place and not the message, which may hold a value that nobody may print."""
    place = extract_tb(error.__traceback__)[-1]
    return (
        f"the rule failed on {resource} with {type(error).__name__} at "
        f"{Path(place.filename).name}:{place.lineno}; a rule that fails counts as broken. "
        f"{rule.sentence}"
    )
