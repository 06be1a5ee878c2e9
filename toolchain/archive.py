"""Packs the built programs into an archive, and takes them from one instead of building them.

An archive holds the folders of `.toolchain/bin`, whose names tell their pins and recipe: a program
of another pin, or for another kind of machine, is never taken for the one that is needed.
"""

import gzip
import hashlib
import shutil
import tarfile
from pathlib import Path

from rich.console import Console

from toolchain.build import build_all, lock
from toolchain.layout import Layout
from toolchain.program import Program, ToolchainError
from toolchain.programs import PROGRAMS
from toolchain.progress import Progress

USUAL = tuple(program for program in PROGRAMS.values() if not program.on_demand)


def pack(target: Path, *, console: Console | None, layout: Layout | None = None) -> None:
    """Write an archive of all usual programs, built also where one on PATH would do.

    The same programs give the same bytes: no time, no owner.
    """
    layout, progress = layout or Layout(), Progress(console)
    layout.home.mkdir(parents=True, exist_ok=True)
    with lock(layout, progress):
        build_all([each for each in USUAL if not layout.is_built(each)], layout, progress)
        with (
            progress.step(f"write {target}"),
            target.open("wb") as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
            tarfile.open(mode="w", fileobj=packed) as archive,
        ):
            for folder in sorted(layout.directory(program) for program in USUAL):
                archive.add(folder, folder.name, filter=_without_owner)


def take(
    archive: Path, sha256: str, *, console: Console | None, layout: Layout | None = None
) -> tuple[Program, ...]:
    """Put the programs of an archive into place; return those that it has for this checkout.

    Raises ToolchainError where the archive is not the one with this checksum, or fits in nothing.
    """
    layout, progress = layout or Layout(), Progress(console)
    _check(archive, sha256)
    layout.home.mkdir(parents=True, exist_ok=True)
    with lock(layout, progress), progress.step(f"unpack {archive.name}"):
        unpacked = layout.work / "archive"
        shutil.rmtree(layout.work, ignore_errors=True)
        unpacked.mkdir(parents=True)
        try:
            _unpack(archive, unpacked)
            taken = tuple(
                program
                for program in PROGRAMS.values()
                if (unpacked / layout.directory(program).name).is_dir()
            )
            for program in taken:
                layout.finish(program, unpacked / layout.directory(program).name)
        except (OSError, EOFError, tarfile.TarError) as error:
            raise ToolchainError(f"{archive} cannot be unpacked: {error}.") from error
        finally:
            shutil.rmtree(layout.work, ignore_errors=True)
    if not taken:
        needed = ", ".join(sorted(layout.directory(program).name for program in USUAL))
        raise ToolchainError(
            f"{archive} has none of the programs that this checkout needs ({needed}): take the "
            "archive of this release and of this kind of machine, or run `make toolchain`."
        )
    return taken


def _unpack(archive: Path, target: Path) -> None:
    """Write the files of an archive; Python before 3.11.4 has no filter that keeps them inside."""
    with tarfile.open(archive, "r:gz") as packed:
        for entry in packed:
            path = (target / entry.name).resolve()
            file = packed.extractfile(entry) if entry.isfile() else None
            if not path.is_relative_to(target.resolve()) or not (file or entry.isdir()):
                raise tarfile.TarError(f'"{entry.name}" is no file of a program')
            if file:
                path.parent.mkdir(parents=True, exist_ok=True)
                with file, path.open("wb") as written:
                    shutil.copyfileobj(file, written)
                path.chmod(entry.mode & 0o755)


def _check(archive: Path, sha256: str) -> None:
    try:
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ToolchainError(f"{archive} cannot be read: {error.strerror}.") from error
    if found != sha256.lower():
        raise ToolchainError(
            f'{archive} has the SHA-256 {found}, and "{sha256}" was given: download it again, and '
            "take the checksum from SHA256SUMS of the same release."
        )


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry
