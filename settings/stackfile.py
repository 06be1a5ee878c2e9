"""Reads stack files from disk as Pulumi reads them."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

from settings.names import PROJECT
from settings.positions import Positions, positions
from settings.problems import Mistake, SettingsError, seen
from settings.secrets import SECRETS, how_to_set
from settings.yaml_reading import Loader, path_from_here, text_of, yaml_errors

T = TypeVar("T")
BESIDE = ("config", "encryptedkey", "encryptionsalt", "environment", "secretsprovider")
"""The keys of a stack file that Pulumi reads."""


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
        known = environments(root)
        name = Path(environment).name.removeprefix("Pulumi.").removesuffix(".yaml")
        near = difflib.get_close_matches(name, known, n=1)
        offer = f'did you mean "{near[0]}"? Known' if near else "known"
        rest = f"{offer}: {', '.join(known) or 'none yet'}."
        raise SettingsError(
            [f'there is no environment "{environment}" ({path.relative_to(root)}); {rest}']
        )
    return path


def load(path: Path, parsed: Callable[[str, Mapping[str, object], Path], T]) -> T:
    """Return the result of `parsed` for the environment, configuration and folder of a stack file.

    Raises SettingsError with every mistake of the file.
    """
    environment = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    document, found_at = read(path)
    config, mistakes = _own_keys(document, environment)
    try:
        found = parsed(environment, config, path.parent)
    except SettingsError as error:
        mistakes += error.mistakes
    if mistakes:
        raise SettingsError(found_at.located(mistakes))
    return found


def located(path: Path, config: Mapping[str, object], mistakes: Sequence[str]) -> tuple[str, ...]:
    """Return the mistakes of a configuration with file and line.

    They stay as they are where the file has another one: Pulumi was given it by `--config-file`.
    """
    try:
        document, lines = read(path)
    except SettingsError:
        return tuple(mistakes)
    own, _ = _own_keys(document, "")
    return tuple(lines.located(mistakes) if own == config else mistakes)


def read(path: Path) -> tuple[Mapping[str, Any], Positions]:
    """Return a stack file, which has a mapping below `config`, and the lines of what is there."""
    with yaml_errors(path):
        loader = Loader(text_of(path))
        node = loader.get_single_node()
        document = None if node is None else loader.construct_document(node)
        # Pulumi hands JSON over: no cycles, and dates as text
        document = json.loads(json.dumps(document, default=_date))
    shown = path_from_here(path)
    if not isinstance(document, dict) or not isinstance(document.get("config"), Mapping):
        raise SettingsError([f"{shown}:1: {_without_settings(document)}"])
    return document, positions(shown, node)


def _without_settings(document: object) -> str:
    """Return what a file has in place of settings."""
    keys = [*map(str, document)] if isinstance(document, dict) else []
    if isinstance(document, dict) and "config" in keys:
        return f"`config` is {seen(document['config'])}; allowed: a mapping."
    near = " Did you mean `config`?" if difflib.get_close_matches("config", keys) else ""
    found = ", ".join(keys) or seen(document)
    return f"has no settings, but {found}; allowed: a mapping under `config:`.{near}"


def _date(value: object) -> str:
    """Return an unquoted date as Pulumi writes it, which no type in settings allows."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"{value} 00:00:00 +0000 UTC"
    return str(value)


def _own_keys(document: Mapping[str, Any], environment: str) -> tuple[dict[str, object], list[str]]:
    """Return the keys of this program without their namespace, and the mistakes in keys."""
    own: dict[str, object] = {}
    rest = f" is beside `config:`, where nothing reads it; allowed there: {', '.join(BESIDE)}."
    mistakes: list[str] = [Mistake(key, rest) for key in document if key not in BESIDE]
    for key, value in document["config"].items():
        namespace, colon, name = key.partition(":")
        if not colon:
            rest = f'the key "{key}" has no namespace; allowed: {PROJECT}:{key}.'
            mistakes.append(Mistake(rest, "", place=key))
        elif namespace == PROJECT and name not in SECRETS:
            own[name] = value
        elif namespace == PROJECT and not (isinstance(value, Mapping) and "secure" in value):
            allowed = f"an encrypted value, set by `{how_to_set(name, environment)}`"
            mistakes.append(
                Mistake(key, f" is in plain text in the stack file; allowed: {allowed}.")
            )
        elif namespace != PROJECT and difflib.get_close_matches(namespace, [PROJECT]):
            offer = f'did you mean "{PROJECT}:{name}"? Keys of other namespaces are not read.'
            mistakes.append(Mistake(key, f" is not a known key; {offer}"))
    return own, mistakes
