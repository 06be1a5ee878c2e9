"""What a program of the toolchain is: what it is built from, and when one on PATH will do.

A version is pinned once, in the go.mod of the program's folder; everything else reads it there.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
GO_WHEEL = SOURCES / "go-requirements.txt"  # pins the Go that is used where PATH has none
STRIPPED = "-s -w"


class ToolchainError(RuntimeError):
    """A program cannot be had; the text is a sentence with the cause and what the user can do."""


@dataclass(frozen=True, kw_only=True)
class Binary:
    """A main package, built in the Go module `folder`; `ldflags` may have {version} and {minor}.

    `tags` are build tags with commas between them.
    """

    name: str
    folder: str
    package: str
    ldflags: str = STRIPPED
    tags: str = ""


@dataclass(frozen=True, kw_only=True)
class Copy:
    """Files of a module that are copied; `files` are glob patterns, of whole folders too.

    `pinned_in` is a folder below the program's with a go.mod of its own that pins the module.
    """

    module: str
    files: tuple[str, ...]
    to: str = "."
    pinned_in: str = field(default=".", repr=False)  # the pin itself is in the digest of a program


@dataclass(frozen=True, kw_only=True)
class GeneratedCrds:
    """CustomResourceDefinitions that a module has only as the Go types of `package`."""

    package: str
    to: str


@dataclass(frozen=True, kw_only=True)
class OnPath:
    """A test of a program on PATH: `arguments` make it print a version that `pattern` finds.

    The version must have the first `same` numbers of the pinned one and not be older; the programs
    of `beside` must be in the same folder. The version is that of the system `system`, and those of
    `inside` come with the program in versions that it does not print.
    """

    arguments: tuple[str, ...]
    pattern: str
    same: int
    beside: tuple[str, ...] = ()
    system: str = ""
    inside: tuple[str, ...] = ()

    def fits(self, version: str, pinned_version: str) -> bool:
        """Return whether a program of this version can replace the built one."""
        have, want = numbers(version), numbers(pinned_version)
        return have[: self.same] == want[: self.same] and have >= want


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program that `ensure` provides by `name`; its version is that of `module`."""

    name: str
    folder: str
    module: str
    disk_gb: int  # what its build adds to those before it, with modules and build cache
    binaries: tuple[Binary, ...] = ()
    copies: tuple[Copy, ...] = ()
    crds: tuple[GeneratedCrds, ...] = ()
    on_path: OnPath | None = None
    on_demand: bool = False  # built only where it is asked for by name

    def version(self, sources: Path = SOURCES) -> str:
        """Return the pinned version, without its v."""
        return pinned(self.folder, self.module, sources)


def numbers(version: str) -> tuple[int, ...]:
    """Return a dotted version as numbers that compare: "1.36.3" is (1, 36, 3)."""
    return tuple(int(number) for number in version.split("."))


def pinned(folder: str, module: str, sources: Path = SOURCES) -> str:
    """Return the version of `module` in the go.mod of `folder`, without its v."""
    text = (sources / folder / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require)?\s*{re.escape(module)} v(\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"toolchain/{folder}/go.mod requires no {module}")
    return found[1]
