"""Reads from a release's tag of flatcar/scripts which options its kernel is built with.

`python -m hardware.flatcar.read_kernel 4593.2.5` writes those that kernel_needs.yaml asks for into
kernel_config.yaml. The kernel's version is that of the ebuild sys-kernel/coreos-kernel; its options
are those of commonconfig and of the architecture's defconfig in sys-kernel/coreos-modules/files, of
which the second wins.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping

import yaml

from hardware.flatcar import kernel
from hardware.flatcar.read_tag import TagError, github

Fetch = Callable[[str], str | None]
_RELEASE = re.compile(r"\d{4,}\.\d+\.\d+")
_OVERLAY = "sdk_container/src/third_party/coreos-overlay/sys-kernel"
_ARCHES = ("amd64", "arm64")
_OPTION = re.compile(r"^(?:CONFIG_(\w+)=([ymn])|# CONFIG_(\w+) is not set)$", re.MULTILINE)
_HEADING = """\
# The options of Linux's configuration that kernel_needs.yaml asks for, as far as the files of a
# release of Flatcar name them. Not to be edited: `python -m hardware.flatcar.read_kernel RELEASE`
# reads them from the tag of flatcar/scripts.
"""


def configuration(tag: str, fetch: Fetch) -> Mapping[str, object]:
    """The kernel's version at a tag and its options by architecture; TagError."""
    listing = fetch(
        f"https://api.github.com/repos/flatcar/scripts/contents/{_OVERLAY}/coreos-kernel?ref={tag}"
    )
    names = [str(entry["name"]) for entry in json.loads(listing or "[]")]
    versions = [
        found[1]
        for name in names
        if (found := re.fullmatch(r"coreos-kernel-([\d.]+)(?:-r\d+)?\.ebuild", name))
    ]
    if len(versions) != 1:
        raise TagError(
            f"{tag}: coreos-kernel has {', '.join(versions) or 'no ebuild'}; expected one"
        )
    series = ".".join(versions[0].split(".")[:2])
    options: dict[str, dict[str, str]] = {}
    for arch in _ARCHES:
        given: dict[str, str] = {}
        for name in ("commonconfig", f"{arch}_defconfig"):
            path = f"{_OVERLAY}/coreos-modules/files/{name}-{series}"
            text = fetch(f"https://raw.githubusercontent.com/flatcar/scripts/{tag}/{path}")
            if text is None:
                raise TagError(f"{tag} has no {path}")
            given |= {on or off: value or "n" for on, value, off in _OPTION.findall(text)}
        for option in kernel.options():
            if option in given:
                options.setdefault(option, {})[arch] = given[option]
    return {"tag": tag, "linux": versions[0], "options": options}


def table_with(text: str, release: str, fetch: Fetch) -> str:
    """The table with a release that is read anew, the oldest first; TagError."""
    if not _RELEASE.fullmatch(release):
        raise TagError(f'"{release}" is no release of Flatcar; allowed: such as 4593.2.5')
    table = yaml.safe_load(text) or {}
    table[release] = dict(configuration(f"stable-{release}", fetch))
    ordered = dict(sorted(table.items(), key=lambda item: [int(n) for n in item[0].split(".")]))
    return _HEADING + yaml.safe_dump(ordered, sort_keys=False)


def main(given: list[str]) -> int:
    """Read the releases that are named on the command line into the table."""
    if not given:
        sys.stderr.write(f"{__doc__}")
        return 2
    try:
        text = kernel.CONFIG.read_text(encoding="utf-8") if kernel.CONFIG.exists() else ""
        for release in given:
            text = table_with(text, release, github)
    except TagError as error:
        sys.stderr.write(f"{error}.\n")
        return 2
    kernel.CONFIG.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
