"""A system extension that a machine downloads must come by https, with a checksum beside it.

Flatcar's own (drivers of NVIDIA, by /etc/flatcar/enabled-sysext.conf) are signed and checked by the
machine. What Ignition downloads is checked by `verification.hash` alone: sha512, or sha256. The
bakery of Flatcar signs nothing; its addresses are a setting until their checksums are pinned.
"""

import json
import re
from collections.abc import Iterator, Mapping

from policies.language.manifest import at, describe, items
from policies.language.rule import Manifest, Rule, Settings

ID = "isolation/sysext-checksums"
_FOLDERS = ("/etc/extensions/", "/opt/extensions/", "/var/lib/extensions/")
_HASH = re.compile(r"sha512-[0-9a-f]{128}|sha256-[0-9a-f]{64}")
_HTTPS = "must download {} by https."
_CHECKED = "must download {} with the checksum of what it is, as verification.hash."
_READ = "must have Ignition that can be read."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the extensions of a pool that could be others than were meant."""
    if not str(manifest.get("kind")).startswith("gpu:pools:"):
        return []
    ignition = at(manifest, "spec", "ignition")
    if ignition is None:
        return []
    try:
        files = list(_files(json.loads(str(ignition))))
    except ValueError:
        return [f"{describe(manifest)} {_READ}"]
    trusted = tuple(map(str, items(settings["unpinned"])))
    faults = (_fault(path, contents, trusted) for path, contents in files)
    return [f"{describe(manifest)} {fault}" for fault in faults if fault]


def _files(config: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    for file in items(at(config, "storage", "files")):
        path, contents = str(at(file, "path")), at(file, "contents")
        if isinstance(contents, Mapping) and path.startswith(_FOLDERS):
            yield path, contents


def _fault(path: str, contents: Mapping[str, object], trusted: tuple[str, ...]) -> str | None:
    source = str(contents.get("source") or "")
    if not source or source.startswith("data:"):
        return None
    if not source.startswith("https://"):
        return _HTTPS.format(path)
    checked = _HASH.fullmatch(str(at(contents, "verification", "hash")))
    return None if checked or source.startswith(trusted) else _CHECKED.format(path)


RULE = Rule(
    id=ID,
    sentence="A system extension must come by https, with its checksum.",
    why=(
        "An extension is merged into /usr and runs as root before anything can look at it: whoever "
        "changes the file behind the address has every machine that boots from then on."
    ),
    source="https://www.flatcar.org/docs/latest/provisioning/sysext/",
    schema={
        "unpinned": {
            "type": "array",
            "items": {"type": "string", "pattern": "^https://[^ ,]+/$"},
            "default": ["https://extensions.flatcar.org/extensions/"],
            "description": "Prefixes of the addresses that need no checksum.",
        }
    },
    predicate=violations,
)
