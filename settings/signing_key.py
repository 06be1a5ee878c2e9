"""The form of a public key that vouches for a rehearsal: Ed25519, ECDSA or RSA in one line.

Read without a library for keys, which a machine that only validates a stack file has not.
"""

import base64
import binascii
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

# how SubjectPublicKeyInfo (RFC 5280, 4.1) names them: RFC 8410 and RFC 3279
_ALGORITHMS = (
    b"\x06\x03\x2b\x65\x70",  # 1.3.101.112, Ed25519
    b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01",  # 1.2.840.10045.2.1, ECDSA
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01",  # 1.2.840.113549.1.1.1, RSA
)


def _signing_key(text: str) -> str:
    """Refuse what is no public key of these algorithms."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error
    end, inside = _sequence(key)
    _, algorithm = _sequence(key[inside:])
    if end != len(key) or not key[inside + algorithm :].startswith(_ALGORITHMS):
        raise ValueError
    return text


def _sequence(data: bytes) -> tuple[int, int]:
    """Return where the sequence at the beginning ends, and where its first part begins: X.690."""
    if len(data) < 2 or data[0] != 0x30:
        raise ValueError
    long = data[1] & 0x7F if data[1] & 0x80 else 0
    inside = 2 + long
    return inside + int.from_bytes(data[2:inside] if long else data[1:2], "big"), inside


SigningKey: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9+/]{40,}={0,2}$",
        description="a public key in one line of base64, as `openssl pkey -in KEY -pubout -outform "
        "DER | base64 -w0` prints it, of an Ed25519, ECDSA or RSA key",
    ),
    AfterValidator(_signing_key),
]
