"""The program of each environment with made-up secrets, and the resources that it registers."""

import base64
import json
from collections.abc import Callable
from functools import cache

import pulumi

from policies.environment import Environment, load, parse
from settings import stack_file
from stacks.compose import compose
from tests.conftest import ROOT
from tests.support.recorder import JOIN_SEED, Registered, render
from tests.support.stack_settings import with_efa

ENVIRONMENTS = ("dev", "research", "prod")
TUNNEL_KEYS = {
    name: base64.b64encode(name.encode().ljust(32, b".")).decode()
    for name in (
        *(f"research-dgx-0{number}" for number in range(1, 9)),
        "fleet-research-fra-gateway",
    )
}
SECRETS = {
    "kubeconfig": "kubeconfig-of-the-cluster",
    "hcloud_token": "t" * 64,
    "bmc_username": "bmc-user",
    "bmc_password": "bmc-hunter2",
    "wireguard_keys": json.dumps(TUNNEL_KEYS),
    "lakefs_access_key_id": "AKIAFLEETADMIN",
    "lakefs_secret_access_key": "lakefs-hunter2",
    "lakefs_auth_encrypt_key": "0123456789abcdef" * 4,
    "lakefs_database": "postgres://lakefs:db-hunter2@postgres.fleet.example:5432/lakefs",
    "pagerduty_routing_key": "pagerduty-hunter2",
}
NEVER_SHOWN = {
    **SECRETS,
    "the seed of tokens": JOIN_SEED,
    **{f"the key of {name}": key for name, key in TUNNEL_KEYS.items()},
}


def program(name: str) -> Callable[[], None]:
    """Return a program that does what stacks/__main__.py does for an environment here."""
    return _program(load(stack_file(ROOT, name)))


def _program(environment: Environment) -> Callable[[], None]:
    def run() -> None:
        compose(environment, {name: pulumi.Output.secret(value) for name, value in SECRETS.items()})

    return run


@cache
def resources(environment: str, *, preview: bool = False) -> tuple[Registered, ...]:
    """Return the resources that the program registers; it runs once, so do not change them."""
    return tuple(render(program(environment), preview=preview))


@cache
def resources_with_efa() -> tuple[Registered, ...]:
    """Return the resources of an environment whose rented machines speak EFA."""
    return resources_of(with_efa())


def resources_of(configuration: dict[str, object]) -> tuple[Registered, ...]:
    """Return the resources that the program registers for a configuration of dev."""
    return tuple(render(_program(parse("dev", configuration))))
