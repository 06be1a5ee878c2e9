"""Gets what an Ignition resource points at, as Ignition does: data URLs, gzip, hashes."""

import base64
import gzip
import hashlib
import zlib
from collections.abc import Callable, Mapping
from urllib.parse import unquote_to_bytes

Fetch = Callable[[str], bytes]


class SourceError(ValueError):
    """A resource that the machine would not get, in words."""


def load(resource: Mapping[str, object], fetch: Fetch | None) -> bytes:
    """The contents of a resource, decompressed and held to its hash."""
    source = str(resource.get("source") or "")
    if source.startswith("data:"):
        contents = _data(source)
    elif fetch is None:
        raise SourceError(f"{source} cannot be fetched here; hand it over with the Ignition config")
    else:
        try:
            contents = fetch(source)
        except (OSError, LookupError, ValueError) as error:
            raise SourceError(f"{source} cannot be fetched: {error}") from error
    if resource.get("compression") == "gzip":
        try:
            contents = gzip.decompress(contents)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(
                f"{source[:60]} is not gzip, though its compression says so"
            ) from error
    verification = resource.get("verification")
    if isinstance(verification, dict):
        _verify(source, contents, verification.get("hash"))
    return contents


def _data(source: str) -> bytes:
    kind, comma, data = source.removeprefix("data:").partition(",")
    if not comma:
        raise SourceError("its data URL has no comma before the contents; add it")
    if not kind.endswith(";base64"):
        return unquote_to_bytes(data)
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise SourceError("its data URL is not valid base64; encode the contents anew") from error


def _verify(source: str, contents: bytes, wanted: object) -> None:
    if wanted is None:
        return
    function, _, digest = str(wanted).partition("-")
    if function not in ("sha256", "sha512"):
        raise SourceError(f'the hash "{str(wanted)[:20]}" must begin with sha512- or sha256-')
    found = hashlib.new(function, contents).hexdigest()
    if found != digest:
        raise SourceError(
            f"{source[:60]} has the {function} {found[:12]}…, but the configuration wants "
            f"{digest[:12]}…; write the hash of what is stored there"
        )
