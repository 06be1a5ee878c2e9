"""Makes up the keys of tunnels for a rehearsal, as pairs for the gateways of this program."""

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ignition.write.wireguard import WireGuardKey
from ignition.write.wireguard_keys import public_key
from settings import Settings
from settings.tunnel_keys import gateway_name, key_owners


@dataclass(frozen=True, kw_only=True)
class TunnelKeys:
    """The text of the secret `wireguard_keys`, and the public key of each gateway by its site."""

    secret: str = field(repr=False)
    public: Mapping[str, str]


def tunnel_keys(settings: Settings, earlier: str | None = None) -> TunnelKeys:
    """Return made-up keys for each machine behind a tunnel and each gateway of this program.

    Keys in the `earlier` text of the secret stay.
    """
    have: Mapping[str, str] = json.loads(earlier or "{}")
    keys = {name: have.get(name) or _made_up() for name in key_owners(settings)}
    gateways = {site: gateway_name(settings, site) for site in settings.sites}
    return TunnelKeys(
        secret=json.dumps(keys),
        public={
            site: public_key(WireGuardKey(private_key=keys[name]))
            for site, name in gateways.items()
            if name in keys
        },
    )


def _made_up() -> str:
    return base64.b64encode(os.urandom(32)).decode()
