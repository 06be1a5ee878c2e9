"""The value of a machine's bootstrap token: one of its own for each machine and its boot data.

A token has the form [a-z0-9]{6}.[a-z0-9]{16}: an id that anybody may know, and a secret
(kubernetes.io, "Authenticating with bootstrap tokens").
"""

import hashlib
import hmac
import string

_LETTERS = string.digits + string.ascii_lowercase
_ID, _SECRET = 6, 16


def machine_token(seed: str, machine: str, boot_data: str) -> str:
    """Return the token of a machine that boots from `boot_data`, its data without the token.

    Same arguments, same token; without `seed` nobody can tell it. So it changes when the machine
    gets other boot data, and is never itself a reason for other boot data.
    """
    message = f"{machine}\n{hashlib.sha256(boot_data.encode()).hexdigest()}".encode()
    number = int.from_bytes(hmac.digest(seed.encode(), message, "sha512"), "big")
    letters = []
    for _ in range(_ID + _SECRET):
        number, index = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[index])
    return f"{''.join(letters[:_ID])}.{''.join(letters[_ID:])}"


def secret_name(token: str) -> str:
    """Return the name of a token's Secret, which Kubernetes fixes; it has the public id alone."""
    return f"bootstrap-token-{token.partition('.')[0]}"
