"""Asks one rule of the fleet about a resource, alone or in a stack, as the gates do."""

from typing import Any

from policies.language.rule import Rule

TODAY = "2026-11-21"
Resource = dict[str, Any]


def said(rule: Rule, manifest: Resource, **settings: object) -> list[str]:
    """What the predicate says, with the defaults of all settings that are not given."""
    assert rule.predicate is not None
    return rule.predicate(manifest, {**rule.defaults(), **settings, "today": TODAY})


def running(found: Resource, *words: str) -> Resource:
    """The container with a command, of which the first word is the program."""
    return {**found, "command": list(words[:1]), "args": list(words[1:])}


def said_in(rule: Rule, stack: list[Resource], **settings: object) -> list[str]:
    """What is said of all resources of a stack with a look at the others."""
    assert rule.across is not None
    asked = {**rule.defaults(), **settings, "today": TODAY}
    return [sentence for each in stack for sentence in rule.across(each, asked, stack)]


def annotated(manifest: Resource, **annotations: str) -> Resource:
    """The object with annotations `fleet.gpu/…` of its own; `_` in a name stands for `-`."""
    own = {f"fleet.gpu/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": own}}
