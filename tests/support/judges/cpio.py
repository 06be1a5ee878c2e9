"""Writes archives that the kernel unpacks as its first file system: cpio, format "newc".

Format: https://docs.kernel.org/driver-api/early-userspace/buffer-format.html. Everything belongs to
root. Archives may follow one another: what stands in a later one replaces the file of an earlier.
"""

import os
import stat
from pathlib import Path
from typing import IO

_MAGIC = "070701"


def write_tree(file: IO[bytes], root: Path, *, leave_out: tuple[str, ...] = ()) -> None:
    """Write everything below `root` but the folders `leave_out` of its top as one archive."""
    number = 1
    for folder, folders, names in os.walk(root):
        if Path(folder) == root:
            folders[:] = [name for name in folders if name not in leave_out]
        for name in (*folders, *names):
            path = Path(folder, name)
            _entry(
                file, number, path.relative_to(root).as_posix(), path.lstat().st_mode, _data(path)
            )
            number += 1
    _entry(file, 0, "TRAILER!!!", 0, b"")


def _data(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return path.read_bytes() if path.is_file() else b""


def _entry(file: IO[bytes], number: int, name: str, mode: int, data: bytes) -> None:
    encoded = os.fsencode(name) + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    # inode, mode, uid, gid, links, mtime, size, device twice, of what twice, name, check
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = (_MAGIC + "".join(f"{field:08x}" for field in fields)).encode()
    for part in (header + encoded, data):
        file.write(part + b"\0" * (-len(part) % 4))
