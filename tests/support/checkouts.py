"""Checkouts with stack files of this repository, in git repositories of their own."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

GIT = shutil.which("git") or "git"


@dataclass(frozen=True)
class Checkout:
    """A checkout at `root`, below the top of its repository."""

    root: Path

    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@x.invalid")
        subprocess.run((GIT, "-C", str(self.root), *identity, *words), check=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x")

    def replace(self, name: str, changes: dict[str, str]) -> None:
        """Replace texts of a file of stacks/, each of which must be there."""
        path = self.root / "stacks" / name
        text = path.read_text()
        for old, new in changes.items():
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text)


def checkout(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> Checkout:
    """Return a checkout with these files of stacks/ committed."""
    for variable in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):  # of a hook that runs the tests
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    found = Checkout(folder / "infrastructure" / "fleet")
    (found.root / "stacks").mkdir(parents=True)
    for name in names:
        shutil.copy(ROOT / "stacks" / name, found.root / "stacks" / name)
    subprocess.run((GIT, "init", "--quiet", str(folder)), check=True)
    found.commit()
    return found
