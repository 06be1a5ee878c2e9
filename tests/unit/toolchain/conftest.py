"""A toolchain in a temporary folder, with a script that stands in for Go on an empty PATH."""

import io
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from toolchain.build import Tools, ensure
from toolchain.layout import Layout
from toolchain.program import SOURCES
from toolchain.programs import PROGRAMS

GO = """#!/bin/sh
PATH=/usr/bin:/bin
echo "$*" >> "$FAKE_GO/calls"
case "$1" in
version) echo "go version go$(cat "$FAKE_GO/version") linux/amd64" ;;
list)
  if [ -f "$FAKE_GO/failure" ]; then cat "$FAKE_GO/failure" >&2; exit 1; fi
  if [ "$2" = -m ]; then echo "$FAKE_GO/module"; fi
  ;;
build)
  while [ "$1" != -o ]; do shift; done
  cp "$FAKE_GO/binary" "$2"
  if [ -p "$FAKE_GO/started" ]; then echo $$ > "$FAKE_GO/started"; sleep 600; fi
  ;;
esac
"""

# What the script builds; it can do what controller-gen does.
BINARY = """#!/bin/sh
for argument; do
  case "$argument" in
  output:crd:dir=*)
    /bin/mkdir -p "${argument#*=}"
    echo "kind: CustomResourceDefinition" > "${argument#*=}/generated.yaml"
    ;;
  esac
done
"""


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """A layout of its own, and the stand-in for Go that it builds with."""

    layout: Layout
    go: Path  # what the script reads and writes
    bin: Path  # the one folder on PATH
    output: io.StringIO

    def ensure(self, *programs: str) -> Tools:
        """Run the real `ensure` in this folder."""
        console = Console(file=self.output, width=200)
        return ensure(programs, console=console, layout=self.layout)

    def builds(self) -> list[str]:
        """Return the names of what Go was asked to build, in order."""
        calls = self.go / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        outputs = [line.partition(" -o ")[2].split()[0] for line in lines if " -o " in line]
        return [Path(output).name for output in outputs]

    def install(self, name: str, answer: str) -> Path:
        """Put a program on PATH that prints `answer` and counts its calls."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\necho asked >> {self.go}/asked\necho '{answer}'\n")
        path.chmod(0o755)
        return path

    def pin(self, folder: str, old: str, new: str) -> None:
        """Change a version in the go.mod of `folder`."""
        go_mod = self.layout.sources / folder / "go.mod"
        text = go_mod.read_text()
        assert old in text
        go_mod.write_text(text.replace(old, new))


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop where nothing is built and nothing but Go is on PATH."""
    sources, go, folder = tmp_path / "sources", tmp_path / "go", tmp_path / "bin"
    for name in {program.folder for program in PROGRAMS.values()}:
        shutil.copytree(SOURCES / name, sources / name)
    folder.mkdir()
    (go / "module").mkdir(parents=True)
    (go / "version").write_text("1.26.8")
    (go / "binary").write_text(BINARY)
    (go / "binary").chmod(0o755)
    for program in PROGRAMS.values():
        for pattern in (pattern for copy in program.copies for pattern in copy.files):
            path = go / "module" / pattern.replace("*", "some")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("copied")
    (folder / "go").write_text(GO)
    (folder / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("FAKE_GO", str(go))
    free = shutil.disk_usage(tmp_path)._replace(free=100 * 10**9)
    monkeypatch.setattr("toolchain.layout.shutil.disk_usage", lambda _: free)
    layout = Layout(home=tmp_path / "home", sources=sources)
    return Workshop(layout=layout, go=go, bin=folder, output=io.StringIO())


@pytest.fixture
def started(workshop: Workshop) -> Path:
    """Return a pipe to which the next build writes its process id before it hangs."""
    path = workshop.go / "started"
    os.mkfifo(path)
    return path
