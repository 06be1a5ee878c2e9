"""Which commit of the checkout is rehearsed, and whether anything there differs from it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Source:
    """The commit of a checkout; None without git. `dirty` where files differ or are unknown."""

    commit: str | None
    dirty: bool


def read(root: Path) -> Source:
    """Asks git; ignored files count as nothing."""
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    changed = _git(root, "status", "--porcelain")
    return Source(commit=commit or None, dirty=commit is None or changed != "")


def since(before: Source, root: Path) -> Source:
    """The source of what began at `before` and ends now: dirty if either was, or if it moved."""
    now = read(root)
    return Source(commit=before.commit, dirty=before.dirty or now != before)


def _git(root: Path, *words: str) -> str | None:
    command = ("git", "-C", str(root), *words)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
