"""The form of a program of the toolchain.

A version is pinned once, in the go.mod of the program's folder; everything else reads it there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
GO_WHEEL = SOURCES / "go-requirements.txt"  # pins the Go that is used where PATH has none
STRIPPED = "-s -w"


@dataclass(frozen=True, kw_only=True)
class Binary:
    """A main package, built in the Go module `folder`; `ldflags` may name {version}, {minor}."""

    name: str
    folder: str
    package: str
    ldflags: str = STRIPPED


@dataclass(frozen=True, kw_only=True)
class Copy:
    """Files of a module that are taken as they are; `files` are glob patterns."""

    module: str
    files: tuple[str, ...]
    to: str = "."


@dataclass(frozen=True, kw_only=True)
class GeneratedCrds:
    """CustomResourceDefinitions that a module holds only as the Go types of `package`."""

    package: str
    to: str


@dataclass(frozen=True, kw_only=True)
class OnPath:
    """When a program on PATH fits: `arguments` make it print a version that `pattern` finds.

    That version must share its first `same` numbers with the pinned one and not be older; every
    program of `beside` must lie in the same folder.
    """

    arguments: tuple[str, ...]
    pattern: str
    same: int
    beside: tuple[str, ...] = ()

    def fits(self, version: str, pinned_version: str) -> bool:
        """Whether a program of this version can stand in for the built one."""
        have, want = numbers(version), numbers(pinned_version)
        return have[: self.same] == want[: self.same] and have >= want


@dataclass(frozen=True, kw_only=True)
class Program:
    """What users of the toolchain ask for by `name`; its version is that of `module`."""

    name: str
    folder: str
    module: str
    disk_gb: int  # free space that its build wants, modules and build cache included
    binaries: tuple[Binary, ...] = ()
    copies: tuple[Copy, ...] = ()
    crds: tuple[GeneratedCrds, ...] = ()
    on_path: OnPath | None = None

    def version(self, sources: Path = SOURCES) -> str:
        """The pinned version, without its v."""
        return pinned(self.folder, self.module, sources)


def numbers(version: str) -> tuple[int, ...]:
    """A dotted version as numbers that compare: "1.34.1" is (1, 34, 1)."""
    return tuple(int(number) for number in version.split("."))


def pinned(folder: str, module: str, sources: Path = SOURCES) -> str:
    """The version of `module` in the go.mod of `folder`, without its v."""
    text = (sources / folder / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s*{re.escape(module)} v(\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"toolchain/{folder}/go.mod requires no {module}")
    return found[1]
