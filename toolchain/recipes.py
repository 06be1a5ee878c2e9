"""How a program comes into an empty folder: fetch its modules, compile, copy, generate."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolchain.errors import ToolchainError
from toolchain.go import CommandError, run

if TYPE_CHECKING:
    from toolchain.go import Go
    from toolchain.program import Binary, Copy, GeneratedCrds, Program
    from toolchain.progress import Progress

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


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Builds `program` in the folder `target` with `go`."""

    program: Program
    target: Path
    go: Go
    progress: Progress

    @property
    def title(self) -> str:
        """The program as progress and errors name it."""
        return f"{self.program.name} {self.program.version(self.go.layout.sources)}"

    def build(self) -> None:
        """Fills `target`; ToolchainError says what stood in the way."""
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
            self.go.run(["list", "-deps", "-f", "", binary.package], folder=binary.folder)
        with self.progress.step(f"{self.title}: {what}compile"):
            output = str(self.target / binary.name)
            arguments = ["build", "-ldflags", ldflags, "-o", output, binary.package]
            self.go.run(arguments, folder=binary.folder)

    def _copy(self, copy: Copy) -> None:
        with self.progress.step(f"{self.title}: fetch and copy files of {copy.module}"):
            self.go.run(["mod", "download", copy.module], folder=self.program.folder)
            where = ["list", "-m", "-f", "{{.Dir}}", copy.module]
            module = Path(self.go.run(where, folder=self.program.folder).strip())
            target = self.target / copy.to
            target.mkdir(exist_ok=True)
            for pattern in copy.files:
                found = sorted(module.glob(pattern))
                if not found:
                    raise CommandError(f"{copy.module} holds no {pattern}")
                for path in found:
                    copied = Path(shutil.copyfile(path, target / path.name))
                    copied.chmod(0o644 if path.suffix else 0o755)

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
