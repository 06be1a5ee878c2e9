"""Reads the user data that machines boot with, and everything that it merges.

A pool's machines get it from a Server of Hetzner, from an EC2NodeClass or from the Secret of a
BareMetalHost, each with the label `fleet.gpu/pool`; what it points at in S3 is in the same stack,
as an object or, of a join part that gets its token later, as a template.
It holds secrets: messages may contain its paths and names, and no values.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence

from ignition.boot.config import BootConfig, ConfigError, read
from policies.language.boot_data import is_pool
from policies.language.join_parts import join_parts
from policies.language.manifest import at
from policies.language.rule import Manifest
from policies.language.stack import once
from settings.names import POOL_LABEL, SERVER

_OBJECTS = ("aws:s3/bucketObjectv2:BucketObjectv2", "aws:s3/bucketObject:BucketObject")
_OF_ONE_MACHINE = (
    "/etc/kubernetes/join.yaml",
    "/etc/hostname",
    "/etc/credstore/",
    "/etc/systemd/network/50-wg0.network",  # its address in a tunnel
)


def user_data(manifest: Manifest) -> str | None:
    """The user data that an object carries; None where it is of another kind."""
    kind = manifest.get("kind")
    if kind in (SERVER, "EC2NodeClass"):
        found = at(manifest, "spec", "userData")
        return None if found is None else str(found)
    if kind != "Secret":
        return None
    plain, encoded = at(manifest, "stringData", "userData"), at(manifest, "data", "userData")
    if plain is not None:
        return str(plain)
    try:
        return None if encoded is None else base64.b64decode(str(encoded)).decode()
    except ValueError:
        return ""


def pool_of(manifest: Manifest, stack: Sequence[Manifest]) -> Manifest | None:
    """The pool component whose machines boot with an object's user data."""
    place = ("spec",) if manifest.get("kind") == SERVER else ("metadata",)
    name = at(manifest, *place, "labels", POOL_LABEL)
    if name is None:
        return None
    return _pools(stack).get(str(name))


@once
def _pools(stack: Sequence[Manifest]) -> dict[str, Manifest]:
    """The first pool component of each name."""
    pools: dict[str, Manifest] = {}
    for each in stack:
        if is_pool(each):
            pools.setdefault(str(at(each, "spec", "pool")), each)
    return pools


def booted(text: str, stack: Sequence[Manifest]) -> BootConfig | None:
    """The whole configuration of user data; None where it cannot be read with what is there."""

    def fetch(source: str) -> bytes:
        bucket, _, key = source.removeprefix("s3://").partition("/")
        for each in stack:
            if each.get("kind") in _OBJECTS:
                place = (at(each, "spec", "bucket"), at(each, "spec", "key"))
                if place == (bucket, key):
                    return str(at(each, "spec", "content")).encode()
        return join_parts(stack)[source].encode()

    try:
        return read(text, fetch, [])
    except ConfigError:
        return None


def differences(plain: BootConfig, final: BootConfig) -> Iterator[str]:
    """Yield what the boot data has beyond its pool's and what it lacks; in words, no values."""
    if final.arguments != plain.arguments:
        yield "have the kernel arguments of its pool"
    for what, shipped, found in (
        ("file", plain.files, final.files),
        ("link", plain.links, final.links),
        ("unit", plain.units, final.units),
    ):
        yield from _changed(what, shipped, found)
    if final.storage.get("filesystems") != plain.storage.get("filesystems"):
        yield "have the file systems of its pool"


def _changed(
    what: str, shipped: Mapping[str, object], found: Mapping[str, object]
) -> Iterator[str]:
    for name, value in shipped.items():
        if found.get(name) != value:
            yield f"have the {what} {name} of its pool"
    for name in found:
        if name not in shipped and not name.startswith(_OF_ONE_MACHINE):
            yield f"not have the {what} {name}, which is not of its pool"
