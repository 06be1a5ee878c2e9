"""Reads stack files from disk as Pulumi reads them."""

import difflib
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TypeVar

import yaml

from settings.names import PROJECT
from settings.problems import SettingsError
from settings.secrets import SECRETS, how_to_set
from settings.yaml_reading import Loader, text_of, yaml_errors

T = TypeVar("T")


def environments(root: Path) -> tuple[str, ...]:
    """Return the names of a checkout's environments, in alphabetical order."""
    files = (root / "stacks").glob("Pulumi.*.yaml")
    return tuple(sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in files))


def stack_file(root: Path, environment: str) -> Path:
    """Return the stack file of an environment.

    Raises SettingsError with the known environments where there is no such file.
    """
    path = root / "stacks" / f"Pulumi.{environment}.yaml"
    if not path.is_file():
        known = ", ".join(environments(root)) or "none yet"
        raise SettingsError(
            [f'there is no environment "{environment}" (stacks/{path.name}); known: {known}.']
        )
    return path


def load(path: Path, parsed: Callable[[str, Mapping[str, object], Path], T]) -> T:
    """Return the result of `parsed` for the environment, configuration and folder of a stack file.

    Raises SettingsError with every mistake of the file.
    """
    environment = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    config, mistakes = _own_keys(_read(path), environment)
    try:
        found = parsed(environment, config, path.parent)
    except SettingsError as error:
        raise SettingsError([*mistakes, *error.mistakes]) from None
    if mistakes:
        raise SettingsError(mistakes)
    return found


def _read(path: Path) -> Mapping[object, object]:
    """Return the section `config` of a stack file."""
    with yaml_errors(path):
        document = yaml.load(text_of(path), Loader)  # noqa: S506  # a SafeLoader
        # Pulumi hands JSON over: no cycles, and dates as text
        document = json.loads(json.dumps(document, default=_date))
    config = document.get("config") if isinstance(document, Mapping) else None
    if not isinstance(config, Mapping):
        raise SettingsError([f"{path} has no settings; allowed: a mapping under `config:`."])
    return config


def _date(value: object) -> str:
    """Return an unquoted date as Pulumi writes it, which no type in settings allows."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"{value} 00:00:00 +0000 UTC"
    return str(value)


def _own_keys(
    config: Mapping[object, object], environment: str
) -> tuple[dict[str, object], list[str]]:
    """Return the keys of this program without their namespace, and the mistakes in keys."""
    own: dict[str, object] = {}
    mistakes = []
    for key, value in config.items():
        namespace, colon, name = str(key).partition(":")
        if not colon:
            mistakes.append(f'the key "{key}" has no namespace; allowed: {PROJECT}:{key}.')
        elif namespace == PROJECT and name not in SECRETS:
            own[name] = value
        elif namespace == PROJECT and not (isinstance(value, Mapping) and "secure" in value):
            mistakes.append(
                f"{key} is in plain text in the stack file; allowed: an encrypted value, set by "
                f"`{how_to_set(name, environment)}`."
            )
        elif namespace != PROJECT and difflib.get_close_matches(namespace, [PROJECT]):
            mistakes.append(
                f'{key} is not a known key; did you mean "{PROJECT}:{name}"? Keys of '
                "other namespaces are not read."
            )
    return own, mistakes
