"""The boot data in the user data of a cloud that limits its size: whole, compressed, or a pointer.

What is too long for the user data goes, in this order, into it as gzip, or into an object store at
which the user data points with the SHA-512 of what is there. Ignition takes the hash over the
decompressed contents, and takes no compression from S3 (coreos/ignition, docs/configuration-v3_4.md
and internal/resource/url.go).
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache

from ignition.write.deflate import compress

# raw, before the base64 of the API: docs.aws.amazon.com, "Work with instance user data"
EC2_LIMIT_BYTES = 16 * 1024
# the length of the text that is sent: docs.hetzner.cloud, "Create a Server"
HETZNER_LIMIT_BYTES = 32 * 1024


class PayloadError(ValueError):
    """Boot data that fits in no form; one sentence with the sizes."""


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Another configuration to merge, and the SHA-512 that it must have, in hexadecimal."""

    source: str
    sha512: str | None = None
    gzip: bool = False

    def entry(self) -> dict[str, object]:
        """The item of `ignition.config.merge`."""
        return {
            "source": self.source,
            **({"compression": "gzip"} if self.gzip else {}),
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
    none. PayloadError says what is how long where no form fits.
    """
    whole = merged(plain, merges)
    if limit_bytes is None or size(whole) <= limit_bytes:
        return Payload(user_data=whole)
    if store is not None:
        pointer = _pointer(plain, Merge(source=store, sha512=sha512(plain)), merges)
        if size(pointer) <= limit_bytes:
            return Payload(user_data=pointer, stored=plain)
        raise PayloadError(
            f"the boot data has {size(whole)} bytes, and {size(pointer)} bytes as a pointer to "
            f"{store}; allowed: {limit_bytes} bytes"
        )
    packed = _pointer(plain, _compressed(plain), merges)
    if size(packed) <= limit_bytes:
        return Payload(user_data=packed)
    raise PayloadError(
        f"the boot data has {size(whole)} bytes, and {size(packed)} bytes compressed; there is "
        f"no object store for what is longer; allowed: {limit_bytes} bytes"
    )


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
    return _base64(text.encode())


@lru_cache(maxsize=64)
def _compressed(text: str) -> Merge:
    return Merge(source=_base64(compress(text)), sha512=sha512(text), gzip=True)


def _pointer(plain: str, to: Merge, merges: tuple[Merge, ...]) -> str:
    version = json.loads(plain)["ignition"]["version"]
    return merged(_json({"ignition": {"version": version}}), (to, *merges))


def _base64(contents: bytes) -> str:
    return f"data:;base64,{base64.b64encode(contents).decode()}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
