"""The folders of the toolchain:

.toolchain/bin/<program>-<version>-<hash>/   a finished program; the hash is that of its sources
.toolchain/crds                              a link to the finished CRDs
.toolchain/work/                             Go, its caches, unfinished programs; until a run ends
.toolchain/logs/<program>.log                the output of a build that failed
"""

import hashlib
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from toolchain.program import SOURCES, Program
from toolchain.programs import PROGRAMS

HOME = SOURCES.parent / ".toolchain"
SOURCE = re.compile(r"\.(?:go|mod|sum)$")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The folder `home` with the programs built from the Go modules in `sources`."""

    home: Path = HOME
    sources: Path = SOURCES

    @property
    def finished(self) -> Path:
        """The folder of the finished programs."""
        return self.home / "bin"

    @property
    def work(self) -> Path:
        """The folder of files that only a build needs."""
        return self.home / "work"

    @property
    def crds(self) -> Path:
        """The folder of the CRDs, with a subfolder for each system."""
        return self.home / "crds"

    def log(self, program: Program) -> Path:
        """Return the path of the output of a failed build of `program`."""
        return self.home / "logs" / f"{program.name}.log"

    def directory(self, program: Program) -> Path:
        """Return the folder of the built `program`; another pin or recipe has another folder."""
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
        """Return whether `program` is built with the current pins."""
        directory = self.directory(program)
        if not directory.is_dir():
            return False
        return not program.crds or (self.crds.exists() and self.crds.samefile(directory))

    def finish(self, program: Program, unfinished: Path) -> None:
        """Move a complete program from `unfinished` into its folder, in one step."""
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
        """Return the files of interrupted builds and of older pins."""
        current = {self.directory(program).name for program in PROGRAMS.values()}
        found = [path for path in (self.work,) if path.exists()]
        if self.finished.is_dir():
            found += [path for path in self.finished.iterdir() if path.name not in current]
        return found

    def remove_leftovers(self) -> None:
        """Delete `leftovers()`."""
        for path in self.leftovers():
            shutil.rmtree(path)

    def size_mb(self, folder: Path | None = None) -> int:
        """Return the disk space of `folder`, by default of all folders, in MB."""
        size = 0
        for directory, _, names in os.walk(folder or self.home):
            size += sum(os.lstat(Path(directory, name)).st_blocks * 512 for name in names)
        return size // 10**6

    def free_mb(self) -> int:
        """Return the disk space for a build, in MB, with that of interrupted downloads."""
        return shutil.disk_usage(self.home).free // 10**6 + self.size_mb(self.work)
