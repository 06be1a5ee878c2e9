"""Runs the rules on manifests. A rule that fails does not keep the others from running.

A rule that reads a value not known yet is "not checked". One that raises counts as broken; only the
place of the error is reported, because its message may hold a secret.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from traceback import extract_tb
from typing import cast

from policies.configuration import ConfiguredRule
from policies.exemptions import exemption_note
from policies.gates.unknown import NotKnownYet
from policies.language.facts import KEY as FACTS
from policies.language.inventory import pool_of
from policies.language.manifest import EncryptedText
from policies.language.rule import Manifest, Rule, Settings
from policies.verdicts import Finding, Resource, State

HIDDEN = "[secret]"  # as Pulumi shows one
SHORTEST_SECRET = 3  # as Pulumi's own log has it: what is shorter stands in any sentence


def findings(
    manifest: Manifest,
    rules: Iterable[ConfiguredRule],
    *,
    resource: Resource,
    today: date,
    stack: Sequence[Manifest] | None = None,
) -> Iterator[Finding]:
    """Yield the findings of the rules for one resource; a rule that raises counts as broken.

    With a `stack`, the resources around it, the rules across a stack run, else those that read one
    resource alone.
    """
    day = today.isoformat()
    for configured in rules:
        asked = _asked(configured, manifest, stack, day)
        if asked is None or configured.level == "disabled":
            continue
        found = _found(configured, asked, manifest, resource, today)
        if found is not None:
            yield found


def paragraph(finding: Finding, rule: Rule) -> str:
    """A finding for people who read what Pulumi prints; nothing of ours reads it back."""
    lines = [f"{rule.id}: {sentence}" for sentence in finding.sentences]
    if finding.resource is None or finding.failed or finding.state == "not checked":
        return "\n".join(lines)
    note = exemption_note(finding)
    return "\n".join([*lines, *filter(None, [note]), f"{rule.why} See {rule.source}"])


def _found(
    configured: ConfiguredRule,
    asked: Callable[[], list[str]],
    manifest: Manifest,
    resource: Resource,
    today: date,
) -> Finding | None:
    rule, level = configured.rule, configured.level
    state: State = "violated" if level == "mandatory" else "advisory"
    finding = partial(Finding, rule=rule.id, level=level, resource=resource)
    try:
        sentences = _without_secrets(asked(), manifest)
        exemption = configured.exemption(manifest) if sentences else None
        keys = _keys(configured, manifest, resource, today) if sentences else ()
    except NotKnownYet as unknown:
        path = unknown.path
        why = f"{resource} is not checked until up, because {path} is not known at preview."
        return finding(state="not checked", sentences=(why,), unknown=path)
    except Exception as error:  # whatever a rule throws, the gate stays shut
        return finding(state=state, sentences=(_thrown(rule, resource, error),), failed=True)
    if not sentences:
        return None
    if exemption is not None and today <= exemption.until:
        state = "exempt"
    return finding(
        state=state,
        sentences=tuple(sentences),
        exemption=exemption,
        pool=pool_of(manifest) if keys else "",
        keys=keys,
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


def _keys(
    configured: ConfiguredRule, manifest: Manifest, resource: Resource, today: date
) -> tuple[str, ...]:
    """What to change in the stack file; nothing for an object that the stack did not make."""
    if configured.rule.keys is None or not resource.urn:
        return ()
    pool = pool_of(manifest)
    keys = configured.rule.keys(manifest, _settings(configured, today.isoformat()))
    return tuple(dict.fromkeys(key for key in keys if pool or "{pool}" not in key))


def _thrown(rule: Rule, resource: Resource, error: Exception) -> str:
    """Names the place and not the message, which may hold a value that nobody may print."""
    place = extract_tb(error.__traceback__)[-1]
    return (
        f"the rule failed on {resource} with {type(error).__name__} at "
        f"{Path(place.filename).name}:{place.lineno}; a rule that fails counts as broken. "
        f"{rule.sentence}"
    )
