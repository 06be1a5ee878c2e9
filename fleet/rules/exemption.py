"""An exemption as the stack file has it, checked before somebody asks for it."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import yaml

from policies.configuration import PATH, PolicyConfigError, configure
from policies.environment import load, void_exemptions
from settings.yaml_reading import path_from_here


class ExemptionError(ValueError):
    """What is wrong with an exemption, one sentence a line."""


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
    if one.until < today:
        raise ExemptionError(f"--until is {one.until}; allowed: a day from {today} on.")
    text = yaml.safe_dump({"exemptions": [dict(said)]}, sort_keys=False, allow_unicode=True)
    lines = "\n".join(f"      {line}" for line in text.splitlines())
    return (
        f"For {path_from_here(path)}; it ends behind {one.until}:\n\n"
        f"  {PATH}:\n    {rule}:\n{lines}"
    )
