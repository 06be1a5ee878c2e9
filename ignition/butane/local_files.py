"""Reads the local files that a document embeds, only below one directory, as with --files-dir."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class LocalError(ValueError):
    """A local file that cannot be embedded, in words."""


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A file or a symbolic link of a tree; `path` is relative to the tree, "" for its root."""

    path: str
    contents: bytes | None
    target: str | None
    executable: bool


class FilesDir:
    """The directory below which local files are read."""

    def __init__(self, directory: Path) -> None:
        self._directory = Path(os.path.abspath(directory))  # links stay, as in Butane

    def read(self, path: str) -> bytes:
        """The contents of a file; LocalError where it is outside or cannot be read."""
        try:
            return self._inside(path).read_bytes()
        except OSError as error:
            raise LocalError(f'"{path}" cannot be read: {error.strerror}') from error

    def tree(self, path: str) -> Iterator[Leaf]:
        """Yield the files and links of a directory in the order of their names."""
        root = self._inside(path)
        if not root.exists():
            raise LocalError(f'"{path}" does not exist below the directory of local files')
        if not root.is_dir():
            raise LocalError(f'"{path}" is no directory')
        try:
            yield from _walk(root, "")
        except OSError as error:
            raise LocalError(f'"{error.filename}" cannot be read: {error.strerror}') from error

    def _inside(self, path: str) -> Path:
        whole = Path(os.path.normpath(f"{self._directory}/{path}"))
        if not whole.is_relative_to(self._directory):
            raise LocalError(f'"{path}" leads out of the directory of local files')
        return whole


def _walk(place: Path, path: str) -> Iterator[Leaf]:
    mode = place.lstat().st_mode
    if stat.S_ISDIR(mode):
        for name in sorted(os.listdir(place), key=os.fsencode):
            yield from _walk(place / name, f"{path}/{name}" if path else name)
    elif stat.S_ISREG(mode):
        contents, executable = place.read_bytes(), bool(mode & 0o111)
        yield Leaf(path=path, contents=contents, target=None, executable=executable)
    elif stat.S_ISLNK(mode):
        target = str(place.readlink())
        yield Leaf(path=path, contents=None, target=target, executable=False)
    else:
        raise LocalError(f'"{path}" is neither a file nor a directory nor a symbolic link')
