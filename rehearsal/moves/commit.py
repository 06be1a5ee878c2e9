"""The commit that a rehearsal brings up first, and its files.

The files are written by an index of their own (`git read-tree`, `git checkout-index`): a worktree
would be registered in the user's repository, and stay there when the rehearsal is killed.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rehearsal.errors import NoBeginningError, RehearsalError

LOCK = "requirements.lock"
NEEDED = ("Pulumi.yaml", "stacks/__main__.py", "stacks/Pulumi.{environment}.yaml")
SHOWN = 12
"""Digits of a commit that a report shows."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit of the checkout at `root`, and the words by which the user named it."""

    root: Path
    ref: str
    sha: str

    @classmethod
    def find(cls, root: Path, ref: str) -> "Commit":
        """Return the commit of a branch, tag or hash; raises RehearsalError where there is none."""
        told = _git(root, "rev-parse", "--is-inside-work-tree", check=False)
        if told.returncode:
            raise RehearsalError(f"--from {ref}: {root} is no checkout of a git repository.")
        found = _git(
            root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}",
            check=False,
        )  # fmt: skip
        if found.returncode:
            raise RehearsalError(
                f"--from {ref}: the repository has no such commit; allowed: a branch, a tag or a "
                "commit that is here (`git fetch` brings others), or deployed."
            )
        return cls(root=root, ref=ref, sha=found.stdout.strip())

    @property
    def short(self) -> str:
        """The commit as a report shows it."""
        return self.sha[:SHOWN]

    def check(self, environment: str) -> None:
        """Raise NoBeginningError where the commit cannot be brought up beside the working tree."""
        for name in (each.format(environment=environment) for each in NEEDED):
            if self._blob(name) is None:
                raise NoBeginningError(
                    f"--from {self.ref}: commit {self.short} has no {name}, so it has no "
                    f"{environment} to begin with; rehearse without --from."
                )
        lock = self.root / LOCK
        if self._blob(LOCK) != (_hash(self.root, lock) if lock.is_file() else None):
            raise NoBeginningError(
                f"--from {self.ref}: commit {self.short} has another {LOCK} than the working tree, "
                "and its program would run on packages that it was not made for; rehearse without "
                "--from, or from a commit with the same file."
            )

    def write(self, folder: Path) -> None:
        """Write the files of the commit into a new folder."""
        index = folder.with_suffix(".index")
        folder.mkdir(parents=True)
        top = Path(_git(self.root, "rev-parse", "--show-toplevel").stdout.strip())
        own = {"GIT_INDEX_FILE": str(index.resolve())}
        _git(top, "read-tree", self._tree(), variables=own)
        _git(top, "checkout-index", "--all", f"--prefix={folder.resolve()}/", variables=own)
        index.unlink(missing_ok=True)
        packages = self.root / ".venv"
        if packages.exists():  # where the program's runtime options name it
            (folder / ".venv").symlink_to(packages.resolve())

    def _tree(self) -> str:
        """Return the name of the project's folder in the commit."""
        prefix = _git(self.root, "rev-parse", "--show-prefix").stdout.strip()
        return f"{self.sha}:{prefix}"

    def _blob(self, name: str) -> str | None:
        found = _git(
            self.root, "rev-parse", "--verify", "--quiet", f"{self._tree()}{name}", check=False
        )
        return None if found.returncode else found.stdout.strip()


def remove(folder: Path) -> None:
    """Remove what `write` has written, whole or in part."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(".index").unlink(missing_ok=True)


def _hash(root: Path, path: Path) -> str:
    return _git(root, "hash-object", str(path)).stdout.strip()


def _git(
    root: Path, *words: str, check: bool = True, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        found = subprocess.run(
            ("git", *words),  # noqa: S607  # the user's own, from PATH
            cwd=root,
            env={**own, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise RehearsalError(f"git cannot be run ({error.strerror}); --from needs it.") from None
    if check and found.returncode:
        said = (found.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RehearsalError(f"git {words[0]} failed: {said}")
    return found
