"""The version of this program: its number, and the commit of the checkout."""

import subprocess
from importlib.metadata import version as installed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version() -> str:
    """Return `fleet 0.1.0, commit 1a2b3c4`; without git or a checkout, the number alone."""
    number = f"fleet {installed('gpu-fleet')}"
    if not (ROOT / ".git").exists():
        return number
    asked = ("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=7")
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return number
    return f"{number}, commit {found.stdout.strip()}"
