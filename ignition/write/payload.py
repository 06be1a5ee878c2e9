"""The boot data in the user data of a cloud that limits its size: whole, or a pointer to a store.

Boot data that is longer than the limit goes into an object store, and the user data points at it
with its SHA-512. A cloud without a store refuses it.
"""

import base64
import hashlib
import json
from dataclasses import dataclass

# raw, before the base64 of the API: docs.aws.amazon.com, "Work with instance user data"
EC2_LIMIT_BYTES = 16 * 1024
# the length of the text that is sent: docs.hetzner.cloud, "Create a Server"
HETZNER_LIMIT_BYTES = 32 * 1024


class PayloadError(ValueError):
    """Boot data that is too long for the user data; one sentence with the sizes."""


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Another configuration to merge, and the SHA-512 that it must have, in hexadecimal."""

    source: str
    sha512: str | None = None

    def entry(self) -> dict[str, object]:
        """The item of `ignition.config.merge`."""
        return {
            "source": self.source,
            **({"verification": {"hash": f"sha512-{self.sha512}"}} if self.sha512 else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Payload:
    """The user data, and the text that must lie in the store where the user data points at it."""

    user_data: str
    stored: str | None = None


def fit(
    plain: str, merges: tuple[Merge, ...], *, limit_bytes: int | None, store: str | None = None
) -> Payload:
    """The user data that merges `merges` into the plain configuration, at most `limit_bytes` long.

    `store` is the address from which the machine could fetch the plain part, None where there is
    none. PayloadError gives the sizes where the user data would be too long.
    """
    whole = merged(plain, merges)
    if limit_bytes is None or size(whole) <= limit_bytes:
        return Payload(user_data=whole)
    if store is None:
        raise PayloadError(
            f"the boot data has {size(whole)} bytes, and there is no object store for what is "
            f"longer than the user data; allowed: {limit_bytes} bytes"
        )
    version = json.loads(plain)["ignition"]["version"]
    pointer = merged(
        _json({"ignition": {"version": version}}),
        (Merge(source=store, sha512=sha512(plain)), *merges),
    )
    if size(pointer) > limit_bytes:
        raise PayloadError(
            f"the boot data has {size(whole)} bytes, and {size(pointer)} bytes as a pointer to "
            f"{store}; allowed: {limit_bytes} bytes"
        )
    return Payload(user_data=pointer, stored=plain)


def merged(config: str, merges: tuple[Merge, ...]) -> str:
    """An Ignition configuration with further ones to merge, last."""
    value = json.loads(config)
    found = value["ignition"].setdefault("config", {}).setdefault("merge", [])
    found += [merge.entry() for merge in merges]
    return _json(value)


def size(text: str) -> int:
    """The bytes of a text as a cloud counts them."""
    return len(text.encode())


def sha512(text: str) -> str:
    """The digest of a text, in hexadecimal."""
    return hashlib.sha512(text.encode()).hexdigest()


def data_url(text: str) -> str:
    """The text as a base64 `data:` URL."""
    return f"data:;base64,{base64.b64encode(text.encode()).decode()}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
