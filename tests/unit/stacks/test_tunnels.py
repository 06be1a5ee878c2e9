"""Halls with a tunnel: what the program of such an environment registers."""

import json
from collections import Counter
from functools import cache

import pulumi
import pytest

from fleet.settings import parse
from hardware.hardware import load
from ignition.boot import boot
from stacks.compose import compose
from tests.recorder import Registered, Secret, named, plain, render
from tests.unit.fleet.environment import TUNNEL_KEYS, config, with_tunnel
from tests.unit.stacks.programs import SECRETS
from tests.unit.stacks.test_environments import texts


@cache
def registered(*, tunnel: bool, preview: bool = False) -> tuple[Registered, ...]:
    """What an environment registers whose hall has a tunnel, or has none."""
    settings = parse("dev", with_tunnel() if tunnel else config())
    secrets = {**SECRETS, "wireguard_keys": json.dumps(TUNNEL_KEYS)}

    def program() -> None:
        compose(settings, {name: pulumi.Output.secret(text) for name, text in secrets.items()})

    return tuple(render(program, preview=preview))


def test_each_machine_behind_the_tunnel_boots_with_a_key_of_its_own() -> None:
    for number, name in enumerate(("dgx-01", "dgx-02"), 11):
        data = named(registered(tunnel=True), "Secret")[f"dgx-{name}-boot"].inputs["stringData"]
        assert isinstance(data, Secret)
        assert isinstance(data.value, dict)
        text = str(data.value["userData"])
        assert boot(text, load("dgx-h200")).problems == ()
        said = "\n".join(texts(text))
        assert TUNNEL_KEYS[name] in said
        assert f"Address=10.13.0.{number}/24" in said
        assert [key for key in TUNNEL_KEYS.values() if key in said] == [TUNNEL_KEYS[name]]


@pytest.mark.parametrize("preview", [False, True])
def test_no_key_of_a_tunnel_stands_in_a_plain_input(*, preview: bool) -> None:
    for each in registered(tunnel=True, preview=preview):
        shown = "\n".join(texts(plain(each.inputs)))
        assert not [name for name, key in TUNNEL_KEYS.items() if key in shown], each.name


def test_a_tunnel_to_a_gateway_of_somebody_else_makes_no_resource() -> None:
    with_one, without = (
        Counter((each.type, each.name) for each in registered(tunnel=tunnel))
        for tunnel in (True, False)
    )
    assert with_one == without


def test_machines_of_other_sites_have_no_end_of_the_tunnel() -> None:
    servers = named(registered(tunnel=True), "Server")
    assert servers
    for each in servers.values():
        assert isinstance(each.inputs["userData"], Secret)
        assert "wg0" not in "\n".join(texts(each.inputs["userData"].value))
