"""The digests of images, as their registries tell them.

A registry says the digest of a tag's manifest when it is asked for its headers alone
(https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md, "Checking if content
exists in the registry").
"""

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rehearsal.charts.asking import FetchError, NoHostError, ask, opened, registry

DIGEST = re.compile("sha256:[0-9a-f]{64}")
DOCKER_HUB, ITS_REGISTRY = "docker.io", "registry-1.docker.io"
_OCI, _DOCKER = "application/vnd.oci.image", "application/vnd.docker.distribution"
MANIFESTS = (
    *(f"{_OCI}.index.v1+json", f"{_DOCKER}.manifest.list.v2+json"),
    *(f"{_OCI}.manifest.v1+json", f"{_DOCKER}.manifest.v2+json"),
)
"""The list of an image's platforms first: its digest is the one that holds on every machine."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What registries told: digests by image, and for the others the reason."""

    digests: Mapping[str, str]
    unknown: Mapping[str, str]


@dataclass(frozen=True)
class _Tagged:
    """An image by the parts of its name: docker.io/library/python:3.12."""

    host: str
    name: str
    tag: str

    @classmethod
    def of(cls, image: str) -> "_Tagged":
        first, slash, rest = image.partition("/")
        if not (slash and ("." in first or ":" in first or first == "localhost")):
            first, rest = DOCKER_HUB, image if slash else f"library/{image}"
        name, colon, tag = rest.rpartition(":")
        return cls(first, name if colon else rest, tag if colon else "latest")


def tell(images: Iterable[str]) -> Told:
    """Ask the registries of images without a digest, all at once, and a silent one only once."""
    by_host: dict[str, list[str]] = {}
    for image in dict.fromkeys(images):
        by_host.setdefault(_Tagged.of(image).host, []).append(image)
    digests: dict[str, str] = {}
    unknown: dict[str, str] = {}
    if by_host:
        with ThreadPoolExecutor(len(by_host)) as pool:
            for told in pool.map(_of_host, by_host.values()):
                digests.update(told.digests)
                unknown.update(told.unknown)
    return Told(digests=digests, unknown=unknown)


def _of_host(images: Iterable[str]) -> Told:
    digests: dict[str, str] = {}
    unknown: dict[str, str] = {}
    silent = ""
    with opened() as client:
        for image in images:
            one = _Tagged.of(image)
            host = ITS_REGISTRY if one.host == DOCKER_HUB else one.host
            url = f"{registry(host, one.name)}/manifests/{one.tag}"
            try:
                if silent:
                    raise NoHostError(silent)
                answer = ask(client, url, {"Accept": ", ".join(MANIFESTS)}, "HEAD")
            except FetchError as error:
                silent = str(error) if isinstance(error, NoHostError) else ""
                unknown[image] = str(error)
            else:
                digest = answer.headers.get("Docker-Content-Digest", "")
                if DIGEST.fullmatch(digest):
                    digests[image] = digest
                else:
                    unknown[image] = f"{host} tells no digest of it"
    return Told(digests=digests, unknown=unknown)
