"""Reads an environment with some settings in place of those of its stack file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from policies.environment import Environment, parse
from settings import stackfile
from settings.names import PROJECT

ALLOWED = "allowed: KEY=VALUE, such as pools.cpu.nodes=5"


class TriedError(ValueError):
    """A setting to try is none; the message is one sentence."""


def environment_with(path: Path, tried: Sequence[str]) -> Environment:
    """Return an environment with settings such as `pools.cpu.nodes=5` in its stack file.

    Raises TriedError, and SettingsError with every mistake of the settings.
    """
    name, config, folder = stackfile.load(path, lambda *read: read)
    for each in tried:
        config = _with(config, *_key_and_value(each))
    return parse(name, config, folder)


def _key_and_value(tried: str) -> tuple[str, object]:
    key, equals, text = tried.partition("=")
    key = key.strip().removeprefix(f"{PROJECT}:")
    if not equals or not all(key.split(".")):
        raise TriedError(f"--set {tried} is no setting; {ALLOWED}.")
    try:
        return key, yaml.safe_load(text)
    except yaml.YAMLError:
        raise TriedError(f"--set {tried}: {text} is no value in YAML; {ALLOWED}.") from None


def _with(
    config: Mapping[str, object], key: str, value: object, above: str = ""
) -> dict[str, object]:
    """Return a configuration with another value below a key such as `pools.cpu.nodes`."""
    first, dot, rest = key.partition(".")
    if not dot:
        return {**config, first: value}
    inner = config.get(first, {})
    if not isinstance(inner, Mapping):
        raise TriedError(
            f"--set {above}{key}={value}: {PROJECT}:{above}{first} is no mapping, so it has no key "
            f"{rest}; {ALLOWED}."
        )
    return {**config, first: _with(inner, rest, value, f"{above}{first}.")}
