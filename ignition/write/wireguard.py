"""WireGuard by systemd-networkd: the plain part knows public keys alone, the secret part the rest.

The private key is a credential of systemd-networkd (systemd.netdev: "network.wireguard.private."
and the name of the .netdev file), which needs no group that Ignition could not resolve.
"""

import base64
import binascii
import ipaddress
import re
from dataclasses import dataclass, field

from ignition.write.documents import RenderError, file

CREDENTIAL = "/etc/credstore/network.wireguard.private.50-wg0"
NETWORK = "/etc/systemd/network/50-wg0.network"
_ENDPOINT = re.compile(r"[A-Za-z0-9.-]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}", re.ASCII)
_KEY_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A peer and the networks behind it; one without an endpoint opens the tunnel itself."""

    public_key: str
    allowed_ips: tuple[str, ...]
    endpoint: str | None = None

    def __post_init__(self) -> None:
        _require_key("public_key", self.public_key)
        for network in self.allowed_ips:
            _require_network(network)
        if self.endpoint is not None and not _ENDPOINT.fullmatch(self.endpoint):
            raise RenderError(f'WireGuard endpoint is "{self.endpoint}"; allowed: host:port')


@dataclass(frozen=True, kw_only=True)
class WireGuard:
    """The interface wg0 of one machine; `address` has the length of its network.

    It is None in the plain part that several machines share: each has its own in its secret part.
    """

    address: str | None
    peers: tuple[Peer, ...]
    listen_port: int = 51820

    def __post_init__(self) -> None:
        if self.address is not None:
            _require_address(self.address)


@dataclass(frozen=True, kw_only=True)
class WireGuardKey:
    """The private key of one machine, as `wg genkey` prints it."""

    private_key: str = field(repr=False)

    def __post_init__(self) -> None:
        try:
            _require_key("private_key", self.private_key)
        except RenderError:
            raise RenderError(
                "the WireGuard private key is malformed; allowed: what `wg genkey` prints"
            ) from None  # the message of a public key shows the value

    def file(self) -> dict[str, object]:
        """The credential, for the secret part."""
        return file(CREDENTIAL, f"{self.private_key}\n", mode=0o600)


def address_file(address: str) -> dict[str, object]:
    """The address of wg0, for the secret part of a machine whose plain part has none."""
    _require_address(address)
    return file(NETWORK, f"[Match]\nName=wg0\n[Network]\nAddress={address}\n", mode=0o644)


def _require_address(address: str) -> None:
    try:
        ipaddress.ip_interface(address)
    except ValueError as error:
        raise RenderError(f"WireGuard address: {error}") from None
    if "/" not in address:
        raise RenderError(
            f"WireGuard address is {address}; allowed: an address with the length of its network, "
            "such as 10.99.0.1/24"
        )


def _require_key(name: str, value: str) -> None:
    try:
        decoded = base64.b64decode(value, validate=True)
    except binascii.Error:
        decoded = b""
    if len(decoded) != _KEY_BYTES:
        raise RenderError(f'WireGuard {name} is "{value}"; allowed: {_KEY_BYTES} bytes in base64')


def _require_network(network: str) -> None:
    try:
        ipaddress.ip_network(network)
    except ValueError as error:
        raise RenderError(f"WireGuard allowed_ips: {error}") from None
