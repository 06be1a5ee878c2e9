"""The signed form of a statement: DSSE's envelope, and the keys that an environment lists.

https://github.com/secure-systems-lab/dsse has the form; securesystemslib signs and verifies.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    load_der_public_key,
    load_pem_private_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import Error as SignatureError
from securesystemslib.signer import (  # type: ignore[attr-defined]  # its API, listed nowhere
    CryptoSigner,
    SSlibKey,
)

PAYLOAD_TYPE = "application/vnd.in-toto+json"
KINDS = "an Ed25519, ECDSA or RSA key"


class StatementError(Exception):
    """A statement that does not hold: one reason or more, a sentence each."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons


class EncryptedKeyError(StatementError):
    """A private key that needs a passphrase, or another one."""


def sign(statement: bytes, key: bytes, passphrase: str | None) -> dict[str, Any]:
    """Returns the envelope with one signature; `key` is a private key in PEM.

    Raises EncryptedKeyError where the passphrase is missing or wrong.
    """
    try:
        signer = CryptoSigner(_private(key, passphrase))
    except TypeError:
        raise EncryptedKeyError("The key is encrypted, and there is no passphrase.") from None
    except (ValueError, UnsupportedAlgorithm):
        if passphrase:
            raise EncryptedKeyError("The passphrase does not open the key.") from None
        raise StatementError(
            f"The key cannot be read; allowed: the private half of {KINDS} in PEM."
        ) from None
    envelope = Envelope(statement, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    found: dict[str, Any] = envelope.to_dict()
    return found


def _private(key: bytes, passphrase: str | None) -> PrivateKeyTypes:
    """Raises TypeError for an encrypted key without a passphrase; a plain one needs none."""
    if passphrase:
        try:
            return load_pem_private_key(key, passphrase.encode())
        except TypeError:  # so says cryptography of a key that is not encrypted
            pass
    return load_pem_private_key(key, None)


def opened(envelope: Mapping[str, Any], keys: Mapping[str, str]) -> tuple[bytes, str]:
    """Returns the statement in an envelope and the name of the listed key that has signed it.

    `keys` are public keys by name, in base64; one that cannot be read is as good as none. Raises
    StatementError unless one of them has signed.
    """
    try:
        found = Envelope.from_dict(json.loads(json.dumps(envelope)))
    except (AttributeError, KeyError, TypeError, ValueError, SignatureError):
        raise StatementError(
            "The envelope of the statement cannot be read; allowed: payload, payloadType and "
            "signatures with keyid and sig, each key once."
        ) from None
    if found.payload_type != PAYLOAD_TYPE:
        raise StatementError(
            f'The envelope holds "{found.payload_type}"; a statement is "{PAYLOAD_TYPE}".'
        )
    read = {name: _public(text) for name, text in keys.items()}
    listed = {name: key for name, key in read.items() if key is not None}
    signed_by = {name: key for name, key in listed.items() if key.keyid in found.signatures}
    for name, key in signed_by.items():
        try:
            found.verify([key], threshold=1)
        except SignatureError:
            continue
        return found.payload, name
    if signed_by:
        raise StatementError(
            f"The signature of the key {', '.join(signed_by)} does not fit: the statement is not "
            "as it was signed."
        )
    ids = ", ".join(key_id[:12] for key_id in found.signatures) or "nobody"
    raise StatementError(
        f"It is signed by {ids}, and by no listed key: {_told(listed)}.",
        *(
            f"gpu-fleet:rehearsal.keys.{name} cannot be read; allowed: {KINDS}."
            for name, key in read.items()
            if key is None
        ),
    )


def _public(text: str) -> SSlibKey | None:
    try:
        return SSlibKey.from_crypto(load_der_public_key(base64.b64decode(text)))
    except (ValueError, UnsupportedAlgorithm):
        return None


def _told(listed: Mapping[str, SSlibKey]) -> str:
    told = [f"{name} ({key.keyid[:12]})" for name, key in sorted(listed.items())]
    return ", ".join(told) or "gpu-fleet:rehearsal.keys has none"
