"""Which public keys a stack file may list for signed rehearsals."""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import TypeAdapter, ValidationError

from settings.signing_key import SigningKey

READ = TypeAdapter[str](SigningKey)


def public(key: Any) -> str:
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


@pytest.mark.parametrize(
    "key",
    [
        ed25519.Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP256R1()),
        rsa.generate_private_key(public_exponent=65537, key_size=2048),
    ],
    ids=["ed25519", "ecdsa", "rsa"],
)
def test_a_key_that_can_sign_a_rehearsal_is_taken_and_no_part_of_it(key: Any) -> None:
    text = public(key)
    assert READ.validate_python(text) == text
    with pytest.raises(ValidationError):
        READ.validate_python(base64.b64encode(base64.b64decode(text)[:-1]).decode())


@pytest.mark.parametrize(
    "text",
    [
        public(x25519.X25519PrivateKey.generate()),
        public(ed448.Ed448PrivateKey.generate()),
        base64.b64encode(b"0" * 44).decode(),
    ],
    ids=["x25519", "ed448", "noise"],
)
def test_another_key_and_noise_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        READ.validate_python(text)
