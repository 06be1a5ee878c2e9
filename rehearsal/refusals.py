"""Why machines of a rehearsal did not come up, for those that wait for their Nodes."""

import json
from collections.abc import Mapping
from pathlib import Path

FILE = "refusals.json"


def read(directory: Path) -> Mapping[str, str]:
    """Return the reasons by the name of the machine."""
    path = directory / FILE
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(directory: Path, reasons: Mapping[str, str]) -> None:
    """Replace the reasons at once, so that nobody reads a half of them."""
    scratch = directory / f"{FILE}.new"
    scratch.write_text(json.dumps(reasons))
    scratch.rename(directory / FILE)
