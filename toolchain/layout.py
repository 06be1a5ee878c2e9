"""Where everything of the toolchain lies, under which key, and what of it is left over.

.toolchain/bin/<program>-<version>-<hash>/   a finished program; the hash is that of its sources
.toolchain/crds                              a link to the finished CRDs
.toolchain/work/                             Go, its caches, unfinished programs; gone after a run
.toolchain/logs/<program>.log                the output of a build that failed
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolchain.program import SOURCES
from toolchain.programs import PROGRAMS

if TYPE_CHECKING:
    from toolchain.program import Program

HOME = SOURCES.parent / ".toolchain"
SOURCE = re.compile(r"\.(?:go|mod|sum)$")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The folder `home` that holds what was built from the Go modules in `sources`."""

    home: Path = HOME
    sources: Path = SOURCES

    @property
    def finished(self) -> Path:
        """The folder of the finished programs."""
        return self.home / "bin"

    @property
    def work(self) -> Path:
        """The folder of everything that is needed only while something is built."""
        return self.home / "work"

    @property
    def crds(self) -> Path:
        """The folder of the CRDs, one subfolder a system."""
        return self.home / "crds"

    def log(self, program: Program) -> Path:
        """Where the output of a failed build of `program` is kept."""
        return self.home / "logs" / f"{program.name}.log"

    def directory(self, program: Program) -> Path:
        """Where `program` lies once it is built; another pin or recipe gives another folder."""
        recipe = (program.binaries, program.copies, program.crds)
        digest = hashlib.sha256(repr(recipe).encode())
        digest.update(f"{platform.system()} {platform.machine()}".encode())
        folder = self.sources / program.folder
        for path in sorted(path for path in folder.rglob("*") if SOURCE.search(path.name)):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
        key = f"{program.version(self.sources)}-{digest.hexdigest()[:8]}"
        return self.finished / f"{program.name}-{key}"

    def is_built(self, program: Program) -> bool:
        """Whether `program` is there, with the pins of today."""
        directory = self.directory(program)
        if not directory.is_dir():
            return False
        return not program.crds or (self.crds.exists() and self.crds.samefile(directory))

    def finish(self, program: Program, unfinished: Path) -> None:
        """Puts a program that is complete in `unfinished` into its place, in one step."""
        directory = self.directory(program)
        self.finished.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
        unfinished.rename(directory)
        if program.crds:
            link = self.work / "crds"
            link.unlink(missing_ok=True)
            link.symlink_to(directory.relative_to(self.home))
            link.replace(self.crds)

    def leftovers(self) -> list[Path]:
        """What an interrupted build or an older pin left behind."""
        current = {self.directory(program).name for program in PROGRAMS.values()}
        found = [path for path in (self.work,) if path.exists()]
        if self.finished.is_dir():
            found += [path for path in self.finished.iterdir() if path.name not in current]
        return found

    def remove_leftovers(self) -> None:
        """Deletes `leftovers()`."""
        for path in self.leftovers():
            shutil.rmtree(path)

    def size_mb(self, folder: Path | None = None) -> int:
        """What `folder` (everything, without one) takes on the disk, in MB."""
        size = 0
        for directory, _, names in os.walk(folder or self.home):
            size += sum(os.lstat(Path(directory, name)).st_blocks * 512 for name in names)
        return size // 10**6

    def free_mb(self) -> int:
        """What is free for a build, in MB, with what an interrupted one already downloaded."""
        return shutil.disk_usage(self.home).free // 10**6 + self.size_mb(self.work)
