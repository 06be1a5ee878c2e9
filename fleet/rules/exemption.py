"""An exemption as the stack file has it, checked before somebody asks for it."""

import difflib
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import yaml

from policies.configuration import ANY, PATH, PolicyConfigError, configure
from policies.environment import load, void_exemptions
from policies.exemptions import LONGEST
from policies.language.facts import declared_kinds
from policies.language.scopes import KNOWN, kind_and_group
from settings.yaml_reading import path_from_here


class ExemptionError(ValueError):
    """What is wrong with an exemption, one sentence a line."""


def doubt(path: Path, resource: str) -> str:
    """Return a sentence where no rule knows the kind of an exempt object, else nothing."""
    kind, _ = kind_and_group(resource)
    declared = {each.kind for rule in load(path).rules[:1] for each in declared_kinds(rule.facts)}
    if resource == ANY or ":" in kind or kind in KNOWN | declared:
        return ""
    near = difflib.get_close_matches(kind, KNOWN | declared, n=1)
    offer = f' Did you mean "{near[0]}"?' if near else ""
    return f'No rule of the program knows the kind "{kind}".{offer}'


def entry(path: Path, rule: str, said: Mapping[str, str], today: date) -> str:
    """Return an exemption as YAML with the place where it goes in the stack file at `path`."""
    found, asked = load(path), {rule: {"exemptions": [said]}}
    try:
        rules = configure(asked, [each.rule for each in found.rules])
    except PolicyConfigError as error:
        raise ExemptionError(str(error)) from error
    (one,) = (one for each in rules for one in each.exemptions)
    void = list(void_exemptions(asked, found.settings))
    if void:
        raise ExemptionError("\n".join(void))
    last = today + LONGEST
    if not today <= one.until <= last:
        raise ExemptionError(f"--until is {one.until}; allowed: a day from {today} to {last}.")
    text = yaml.safe_dump({"exemptions": [dict(said)]}, sort_keys=False, allow_unicode=True)
    lines = "\n".join(f"      {line}" for line in text.splitlines())
    return (
        f"For {path_from_here(path)}; it ends behind {one.until}:\n\n"
        f"  {PATH}:\n    {rule}:\n{lines}"
    )
