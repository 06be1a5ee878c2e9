"""The findings of policy packs as JSON lines, in a file beside the engine's event log.

The engine hands its own environment on to the packs that it starts, so a variable names the file.
Each run of the engine has a fresh file. Several packs append to it, and so do the preview and the
update of one `pulumi up`: each line says whose it is, and is appended in one write, which a local
file system does not mix with others.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "FLEET_FINDINGS_LOG"
DRY_RUN = "PULUMI_DRY_RUN"  # the engine sets it to "true" for a pack that judges a preview


class FindingsLogError(RuntimeError):
    """A file that something else than a policy pack has written; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the file: a pack has started, or has found something."""

    pack: str
    finding: Mapping[str, Any] | None


def recorder(pack: str) -> Callable[[Mapping[str, Any]], None]:
    """Returns a function that appends a finding of the pack to the file.

    It does nothing where the environment names no file. Raises OSError where the file cannot be
    written, so that the pack ends rather than judges without a trace.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return lambda _finding: None
    about = {"pack": pack, "preview": os.environ.get(DRY_RUN) == "true"}
    _append(path, {**about, "finding": None})
    return lambda finding: _append(path, {**about, "finding": finding})


def _append(path: str, entry: Mapping[str, Any]) -> None:
    data = json.dumps(entry).encode() + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.write(file, data) != len(data):
            raise OSError(f"{path} took a part of a line alone.")
    finally:
        os.close(file)


def entries(path: Path, *, preview: bool) -> Iterator[Entry]:
    """Reads what the packs of a preview, or of an update, have written; nothing without a file.

    A last line that a killed pack left unfinished is skipped. Raises FindingsLogError for any other
    line that no pack writes, because the findings may not be all.
    """
    *whole, _unfinished = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for number, line in enumerate(whole, 1):
        try:
            entry = json.loads(line)
            found = Entry(pack=entry["pack"], finding=entry["finding"])
            is_preview = entry["preview"]
        except (ValueError, TypeError, KeyError) as error:
            raise FindingsLogError(
                f"Line {number} of {path} is no finding of a policy pack, so nobody knows whether "
                "the rules hold; run it again."
            ) from error
        if is_preview is preview:
            yield found
