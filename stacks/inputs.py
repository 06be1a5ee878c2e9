"""What Pulumi knows of an environment: its configuration as Settings, its secrets as Outputs."""

import json
from collections.abc import Mapping
from contextlib import suppress

import pulumi
from pulumi.runtime import config as runtime_config

from policies.environment import Environment, parse
from settings import (
    SECRETS,
    Settings,
    SettingsError,
    how_to_set,
    needed_secrets,
    tunnel_keys,
)
from settings.names import PROJECT


def read_environment() -> Environment:
    """The environment of the stack being deployed; SettingsError with every mistake."""
    return parse(pulumi.get_stack(), _structured())


def read_secrets(settings: Settings) -> Mapping[str, pulumi.Output[str]]:
    """The secrets that the environment needs, by name; SettingsError names all missing ones.

    The keys of tunnels are looked into as well: inside an Output they could only crash.
    """
    config = pulumi.Config(PROJECT)
    mistakes = []
    for name in needed_secrets(settings):
        command = how_to_set(name, settings.environment)
        if not config.get(name):
            mistakes.append(f"{PROJECT}:{name} is not set; set it with `{command}`.")
        elif not runtime_config.is_config_secret(f"{PROJECT}:{name}"):
            mistakes.append(
                f"{PROJECT}:{name} stands in clear in the stack file; set it with `{command}`."
            )
        elif name == "wireguard_keys":
            mistakes += tunnel_keys.faults(settings, config.require(name))
    if mistakes:
        raise SettingsError(mistakes)
    return {name: config.require_secret(name) for name in needed_secrets(settings)}


def _structured() -> dict[str, object]:
    """Every key of ours but secrets; pulumi.Config alone would never show an unknown one."""
    found = {**runtime_config.get_config_env(), **runtime_config.CONFIG.get()}
    ours = {}
    for key, value in found.items():
        namespace, _, name = key.partition(":")
        if namespace == PROJECT and name not in SECRETS:
            ours[name] = _parsed(value)
    return ours


def _parsed(value: str) -> object:
    with suppress(ValueError):
        return json.loads(value)
    return value
