"""NVIDIA drivers that Flatcar does not publish: system extensions of one's own, known by file name.

ignition/sysext/build.sh names them. Each is called flatcar-nvidia-drivers-…, as Flatcar's own are:
nvidia.service looks for that name among the extensions, and where it finds none it compiles the
driver of Flatcar's default branch (flatcar/scripts, tag stable-4593.2.5, setup-nvidia).
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

PREFIX = "flatcar-nvidia-drivers-"
EXAMPLE = f"{PREFIX}580-open-580.95.05-flatcar-4593.2.5.raw"
_FILE = re.compile(
    rf"(?P<extension>{PREFIX}(?P<kind>(?P<branch>[0-9]{{3}})-open))"
    r"-(?P<version>(?P=branch)(\.[0-9]+){1,2})"
    r"-flatcar-(?P<flatcar>[0-9]+(\.[0-9]+){2})\.raw"
)


@dataclass(frozen=True, kw_only=True)
class OwnDriver:
    """An extension of `kind` 580-open in a `version`, whose modules fit one release alone.

    `extension` is the name that its extension-release file has, and so its link.
    """

    extension: str
    kind: str
    version: str
    flatcar: str


def own_driver(place: str) -> OwnDriver | None:
    """The driver whose image lies at a path or an address; None where the name is another."""
    found = _FILE.fullmatch(PurePosixPath(urlsplit(place).path).name)
    if found is None:
        return None
    return OwnDriver(
        extension=found["extension"],
        kind=found["kind"],
        version=found["version"],
        flatcar=found["flatcar"],
    )
