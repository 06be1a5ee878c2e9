"""The public key of a private one, as `wg pubkey` makes it."""

import base64

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ignition.write.wireguard import WireGuardKey


def public_key(key: WireGuardKey) -> str:
    """Return the public key that the peers of a tunnel need, in base64."""
    private = X25519PrivateKey.from_private_bytes(base64.b64decode(key.private_key))
    return base64.b64encode(private.public_key().public_bytes_raw()).decode()
