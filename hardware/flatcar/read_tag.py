"""Reads from a release's tag of flatcar/scripts which NVIDIA drivers it has, into releases.yaml.

`python -m hardware.flatcar.read_tag 4593.2.5` asks GitHub three kinds of questions: which driver
extensions the release builds and from which packages (build_library/extra_sysexts.sh), which
versions those packages have at the tag (the names of their ebuilds), and which of them can be built
(SLOT and KEYWORDS of the ebuild, by which Portage chooses).
"""

import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus

import yaml

from hardware.flatcar.releases import TABLE

Fetch = Callable[[str], str | None]
"""The text at an address, None where GitHub has none."""

_HEADING = """\
# The NVIDIA drivers that a release of Flatcar has as system extensions. Not to be edited:
# `python -m hardware.flatcar.read_tag RELEASE` reads them from the tag of flatcar/scripts.
"""
_RELEASE = re.compile(r"\d{4,}\.\d+\.\d+")
_EXTENSION = re.compile(r'"nvidia-drivers-(\d{3})(?:-open)?\|([\w/-]+):0/(\d{3})\|')
# Flatcar's own packages, which win, and those that it takes from Gentoo
_OVERLAYS = tuple(
    f"sdk_container/src/third_party/{name}" for name in ("coreos-overlay", "portage-stable")
)
_REPOSITORY = "flatcar/scripts"
_CHANNEL = "stable"
_TIMEOUT_S = 60


class TagError(ValueError):
    """A tag that cannot be read, or that says something else than expected; one sentence."""


def drivers(tag: str, fetch: Fetch) -> Mapping[str, str]:
    """The driver of each branch at a tag; TagError where one has no version or several."""
    script = fetch(_raw(tag, "build_library/extra_sysexts.sh")) or ""
    packages = {branch: package for branch, package, _ in _EXTENSION.findall(script)}
    if not packages:
        raise TagError(f"{tag}: build_library/extra_sysexts.sh names no driver extension")
    found = {}
    for branch, package in sorted(packages.items()):
        versions = sorted(_versions(tag, package, branch, fetch))
        if len(versions) != 1:
            listed = ", ".join(versions) or "none"
            raise TagError(f"{tag}: {package} has {listed} of branch {branch}; expected one")
        found[branch] = versions[0]
    return found


def _versions(tag: str, package: str, branch: str, fetch: Fetch) -> Iterator[str]:
    """The versions of a branch that a release can build: `0/570` in SLOT, amd64 in KEYWORDS."""
    name = package.rpartition("/")[2]
    folder, listing = _folder(tag, package, fetch)
    for entry in listing:
        ebuild = re.fullmatch(rf"{name}-({branch}\.[\d.]+)(?:-r\d+)?\.ebuild", entry["name"])
        if ebuild is None:
            continue
        text = fetch(_raw(tag, f"{folder}/{entry['name']}")) or ""
        keywords = re.search(r'^KEYWORDS="(.*)"$', text, re.MULTILINE)
        if 'SLOT="0/${PV%%.*}"' in text and keywords and "amd64" in keywords[1].split():
            yield ebuild[1]


def _folder(tag: str, package: str, fetch: Fetch) -> tuple[str, list[dict[str, str]]]:
    """The folder of a package and what GitHub lists there; [] where no overlay has it."""
    for overlay in _OVERLAYS:
        folder = f"{overlay}/{package}"
        listing = fetch(f"https://api.github.com/repos/{_REPOSITORY}/contents/{folder}?ref={tag}")
        if listing is not None:
            return folder, json.loads(listing)
    return "", []


def _raw(tag: str, path: str) -> str:
    return f"https://raw.githubusercontent.com/{_REPOSITORY}/{tag}/{path}"


def github(url: str) -> str | None:
    """The text at an address; TagError where GitHub does not answer."""
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310  # https alone
            return str(answer.read().decode("utf-8"))
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return None
        raise TagError(f"{url}: {error}") from None
    except (urllib.error.URLError, TimeoutError) as error:
        raise TagError(f"{url}: {error}") from None


def table_with(text: str, release: str, fetch: Fetch) -> str:
    """The table with a release that is read anew, the oldest first."""
    if not _RELEASE.fullmatch(release):
        raise TagError(f'"{release}" is no release of Flatcar; allowed: such as 4593.2.5')
    tag = f"{_CHANNEL}-{release}"
    table = yaml.safe_load(text) or {}
    table[release] = {"tag": tag, "nvidia_drivers": dict(drivers(tag, fetch))}
    ordered = dict(sorted(table.items(), key=lambda item: [int(n) for n in item[0].split(".")]))
    return _HEADING + yaml.safe_dump(ordered, sort_keys=False)


def main(given: list[str]) -> int:
    """Read the releases that are named on the command line into the table."""
    if not given:
        sys.stderr.write(f"{__doc__}")
        return 2
    try:
        text = TABLE.read_text(encoding="utf-8")
        for release in given:
            text = table_with(text, release, github)
    except TagError as error:
        sys.stderr.write(f"{error}.\n")
        return 2
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
