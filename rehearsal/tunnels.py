"""The keys of tunnels in a rehearsal: made up, and a pair wherever a gateway is ours."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ignition.write.wireguard import WireGuardKey
from ignition.write.wireguard_keys import public_key
from settings.tunnel_keys import gateway_name, holders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from settings import Settings


@dataclass(frozen=True, kw_only=True)
class TunnelKeys:
    """`secret` is the text of `wireguard_keys`, `public` the key of each gateway by its hall."""

    secret: str = field(repr=False)
    public: Mapping[str, str]


def tunnel_keys(settings: Settings) -> TunnelKeys:
    """A key for each machine behind a tunnel, and for each gateway of ours."""
    keys = {name: base64.b64encode(os.urandom(32)).decode() for name in holders(settings)}
    gateways = {site: gateway_name(settings, site) for site in settings.sites}
    return TunnelKeys(
        secret=json.dumps(keys),
        public={
            site: public_key(WireGuardKey(private_key=keys[name]))
            for site, name in gateways.items()
            if name in keys
        },
    )
