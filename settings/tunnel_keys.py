"""The secret `wireguard_keys`: private keys by the names of machines behind tunnels and gateways.

Settings never holds it, and no error message repeats a key.
"""

import json
from collections.abc import Iterator, Mapping

from ignition.write.documents import RenderError
from ignition.write.wireguard import WireGuardKey
from ignition.write.wireguard_keys import public_key
from settings.names import PROJECT
from settings.pools import BareMetalPoolSettings
from settings.secrets import how_to_set
from settings.tunnels import of_site
from settings.types import Settings, Tunnel

PATH = f"{PROJECT}:wireguard_keys"


def gateway_name(settings: Settings, site: str) -> str:
    """Return the name of the server that is the gateway of a site."""
    return f"{settings.cluster.name}-{site}-gateway"


def key_owners(settings: Settings) -> tuple[str, ...]:
    """Return the machines behind tunnels and the gateways of this program, which need a key."""
    machines = [
        machine.name
        for pool in settings.pools.values()
        if isinstance(pool.declared, BareMetalPoolSettings)
        and of_site(settings.sites.get(pool.site))
        for machine in pool.declared.machines
    ]
    return (*machines, *(name for name, _, _ in _gateways(settings)))


def key_of(name: str, text: str) -> str:
    """Return the private key of a machine from the text of the secret, which must be valid."""
    return str(json.loads(text)[name])


def key_mistakes(settings: Settings, text: str) -> Iterator[str]:
    """Yield the mistakes in the text of the secret, as sentences without a key."""
    command = f"set it with `{how_to_set('wireguard_keys', settings.environment)}`."
    try:
        keys = json.loads(text)
    except ValueError:
        keys = None
    if not isinstance(keys, Mapping):
        yield f"{PATH} is not a JSON object from names of machines to private keys; {command}"
        return
    wanted = key_owners(settings)
    if missing := [name for name in wanted if name not in keys]:
        yield f"{PATH} has no key of {', '.join(missing)}; {command}"
    first: dict[str, str] = {}
    for name in (name for name in wanted if name in keys):
        key = _key(keys[name])
        if key is None:
            yield f"{PATH}.{name} is not a private key; allowed: output of `wg genkey`; {command}"
        elif (other := first.setdefault(key.private_key, name)) != name:
            yield f"{PATH}.{name} is also the key of {other}; allowed: a key of its own; {command}"
    yield from _pair_mistakes(settings, keys, command)


def _pair_mistakes(settings: Settings, keys: Mapping[str, object], command: str) -> Iterator[str]:
    """Yield each gateway of this program whose private key does not fit the public one."""
    for name, site, tunnel in _gateways(settings):
        key = _key(keys.get(name))
        if key is not None and public_key(key) != tunnel.public_key:
            title = settings.renamed_sites.get(site, site)
            yield (
                f'{PROJECT}:sites.{title}.tunnel.public_key is "{tunnel.public_key}"; allowed: '
                f'"{public_key(key)}", which belongs to {PATH}.{name}, or another key there; '
                f"{command}"
            )


def _gateways(settings: Settings) -> Iterator[tuple[str, str, Tunnel]]:
    for name, site in settings.sites.items():
        tunnel = of_site(site)
        if tunnel is not None and tunnel.gateway is not None:
            yield gateway_name(settings, name), name, tunnel


def _key(value: object) -> WireGuardKey | None:
    try:
        return WireGuardKey(private_key=value) if isinstance(value, str) else None
    except RenderError:
        return None
