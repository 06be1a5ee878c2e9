"""An environment: its settings, and the rules as it configures them. Each is read once.

`load(stack_file(root, "dev"))` reads a file, `parse("dev", config)` what Pulumi has read of one.
Both raise SettingsError with every mistake of the file, one sentence a line.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from policies import own_rules
from policies.configuration import ConfiguredRule, PolicyConfigError, RuleSettings, configure
from policies.facts import with_facts
from policies.language.manifest import at, items, mapping
from policies.rules.isolation import host_access
from settings import parse as settings_of
from settings import stackfile
from settings.names import PROJECT
from settings.problems import SettingsError, wrong
from settings.types import Settings

_PATH = f"{PROJECT}:policies"
_BASELINE = (
    "jobs run in the namespaces of queues, where the API server refuses host access by Pod "
    "Security baseline, whatever is exempt here"
)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The settings of an environment and its rules.

    `rule_settings` is what `rules` were configured from, by rule id: what the stack file says of
    them, and what follows from its pools, queues and budget (`facts`, see `policies.facts`).
    """

    settings: Settings
    rule_settings: RuleSettings
    rules: tuple[ConfiguredRule, ...]


def load(path: Path) -> Environment:
    """Return the environment of a stack file."""
    return stackfile.load(path, parse)


def parse(name: str, config: Mapping[str, object], folder: Path = Path()) -> Environment:
    """Return an environment from its configuration without the prefix `gpu-fleet:`.

    `folder` is that of the stack file, where inventory files are; Pulumi starts the program in it.
    """
    mistakes: list[str] = []
    said = _with_folder(_section(config, mistakes), folder)
    try:
        found = settings_of(name, config, folder)
        rule_settings: RuleSettings = with_facts(said, found)
        mistakes += void_exemptions(said, found)
    except SettingsError as error:
        mistakes += error.mistakes
        rule_settings = said  # its mistakes are reported below
    try:
        rules = configure(rule_settings)
    except PolicyConfigError as error:
        mistakes += error.mistakes
    if mistakes:
        raise SettingsError(mistakes)
    return Environment(settings=found, rule_settings=rule_settings, rules=rules)


def void_exemptions(said: RuleSettings, settings: Settings) -> Iterator[str]:
    """Yield the exemptions from host access in a queue, where the API server knows none."""
    queues = {name for team in settings.teams.values() for name in team.queues}
    entries = mapping(said.get(host_access.ID))
    path = f"{_PATH}.{host_access.ID}"
    for name in items(entries.get("namespaces")):
        if name in queues:
            yield wrong(f"{path}.namespaces", name, f"a namespace of no queue: {_BASELINE}")
    for number, entry in enumerate(items(entries.get("exemptions"))):
        space = at(entry, "namespace")
        if space in queues:
            place = f"{path}.exemptions[{number}].namespace"
            yield wrong(place, space, f"a namespace of no queue: {_BASELINE}")


def _with_folder(said: RuleSettings, folder: Path) -> RuleSettings:
    """Return the settings with the whole path of the folder of rules, which other programs read."""
    named = at(said, own_rules.KEY, "folder")
    if not isinstance(named, str) or not named:
        return said
    return {
        **said,
        own_rules.KEY: {**said[own_rules.KEY], "folder": str((folder / named).resolve())},
    }


def _section(config: Mapping[str, object], mistakes: list[str]) -> RuleSettings:
    section = json.loads(json.dumps(config.get("policies", {}), default=str))
    if isinstance(section, dict):
        return section
    mistakes.append(wrong(_PATH, section, "a mapping from rule ids to their settings"))
    return {}
