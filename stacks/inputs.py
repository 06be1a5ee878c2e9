"""Reads an environment from Pulumi: its configuration as Settings, its secrets as Outputs."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pulumi
from pulumi.runtime import config as runtime_config

from policies.environment import Environment, parse
from settings import SECRETS, Settings, SettingsError, how_to_set, needed_secrets
from settings.names import PROJECT
from settings.stackfile import located
from settings.tunnel_keys import key_mistakes


def read_environment() -> Environment:
    """Return the environment of the deployed stack; raises SettingsError with every mistake."""
    name, config = pulumi.get_stack(), _structured()
    try:
        return parse(name, config)
    except SettingsError as error:
        file = Path(f"Pulumi.{name}.yaml")  # Pulumi starts the program in its folder
        raise SettingsError(located(file, config, error.mistakes)) from None


def read_secrets(settings: Settings) -> Mapping[str, pulumi.Output[str]]:
    """Return the secrets that the environment needs, by name.

    Raises SettingsError with all that are missing. Checks the keys of tunnels here, too: inside an
    Output a bad key could only crash.
    """
    config = pulumi.Config(PROJECT)
    mistakes = []
    for name in needed_secrets(settings):
        command = how_to_set(name, settings.environment)
        if not config.get(name):
            mistakes.append(f"{PROJECT}:{name} is not set; set it with `{command}`.")
        elif not runtime_config.is_config_secret(f"{PROJECT}:{name}"):
            mistakes.append(
                f"{PROJECT}:{name} is in plain text in the stack file; set it with `{command}`."
            )
        elif name == "wireguard_keys":
            mistakes += key_mistakes(settings, config.require(name))
    if mistakes:
        raise SettingsError(mistakes)
    return {name: config.require_secret(name) for name in needed_secrets(settings)}


def _structured() -> dict[str, object]:
    """Return the keys of this program but secrets; pulumi.Config could not list unknown ones."""
    found = {**runtime_config.get_config_env(), **runtime_config.CONFIG.get()}
    own = {}
    for key, value in found.items():
        namespace, _, name = key.partition(":")
        if namespace == PROJECT and name not in SECRETS:
            own[name] = _parsed(value)
    return own


def _parsed(value: str) -> object:
    with suppress(ValueError):
        return json.loads(value)
    return value
