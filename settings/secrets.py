"""The names and forms of an environment's secrets; Settings never holds their values."""

from typing import Literal

from settings.names import PROJECT
from settings.types import OnPremSite, Settings

SecretForm = Literal[
    "kubeconfig",
    "hcloud-token",
    "username",
    "password",
    "hex-key",
    "postgres-url",
    "wireguard-keys",
]

SECRETS: dict[str, SecretForm] = {
    "kubeconfig": "kubeconfig",  # of the cluster that the machines join
    "hcloud_token": "hcloud-token",  # 64 letters and digits
    "bmc_username": "username",
    "bmc_password": "password",
    "wireguard_keys": "wireguard-keys",  # JSON: private keys by the names of machines
    "lakefs_access_key_id": "username",  # of its administrator; you choose both keys
    "lakefs_secret_access_key": "password",
    "lakefs_auth_encrypt_key": "hex-key",  # 64 hexadecimal digits, as `openssl rand -hex 32` prints
    "lakefs_database": "postgres-url",  # postgres://user:password@host/database
    "pagerduty_routing_key": "password",  # of an integration with the Events API v2
}


def needed_secrets(settings: Settings) -> tuple[str, ...]:
    """Return the names of the secrets that an environment needs."""
    kinds = {pool.declared.kind for pool in settings.pools.values()}
    names = ["kubeconfig"]
    if "hetzner" in kinds:
        names += ["hcloud_token"]
    if "bare-metal" in kinds:
        names += ["bmc_username", "bmc_password"]
    if any(isinstance(site, OnPremSite) and site.tunnel for site in settings.sites.values()):
        names += ["wireguard_keys"]
    if settings.lakefs is not None:
        names += [name for name in SECRETS if name.startswith("lakefs_")]
    if settings.monitoring.pager == "pagerduty":
        names += ["pagerduty_routing_key"]
    return tuple(names)


def how_to_set(name: str, environment: str) -> str:
    """Return the command that sets a secret; it prompts, so that no shell history has the value."""
    return f"pulumi config set --secret {PROJECT}:{name} --stack {environment}"
