"""A checkout with a commit, for what a rehearsal says of its source."""

import subprocess
from pathlib import Path


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@fleet.example")
    command = ("git", *identity, *words)
    return subprocess.run(
        command, cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def committed(root: Path) -> str:
    """Commits everything at `root`; returns the commit."""
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "As it is")
    return git(root, "rev-parse", "HEAD")
