"""Programs that are installed already: taken when their version fits.

Asking a program for its version costs a process, so the answer is kept until the file changes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolchain.layout import Layout
    from toolchain.program import OnPath, Program

ANSWER_S = 20  # a program that takes longer to tell its version is not used


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Looks on PATH for the programs of `layout`; the answers are kept in its folder."""

    layout: Layout

    def find(self, program: Program) -> Path | None:
        """The fitting installed program, or None."""
        wanted = program.on_path
        found = shutil.which(program.name)
        if wanted is None or found is None:
            return None
        path = Path(found).absolute()
        if path.is_relative_to(self.layout.home):
            return None
        folders = {path.parent, path.resolve().parent}
        if not all(any((folder / name).exists() for folder in folders) for name in wanted.beside):
            return None
        version = self._version(path, wanted)
        pinned_version = program.version(self.layout.sources)
        return path if version and wanted.fits(version, pinned_version) else None

    def _version(self, path: Path, wanted: OnPath) -> str | None:
        status = path.stat()
        question = f"{path} {status.st_mtime_ns} {status.st_size} {' '.join(wanted.arguments)}"
        answers = self._answers()
        if question not in answers:
            answers = {key: value for key, value in answers.items() if not _about(key, path)}
            answers[question] = _ask(path, wanted)
            self.layout.home.mkdir(parents=True, exist_ok=True)
            scratch = self._memory.with_suffix(".new")
            scratch.write_text(json.dumps(answers, indent=1))
            scratch.replace(self._memory)
        return answers[question]

    @property
    def _memory(self) -> Path:
        return self.layout.home / "on-path.json"

    def _answers(self) -> dict[str, str | None]:
        try:
            answers = json.loads(self._memory.read_text())
        except (OSError, ValueError):
            return {}
        return answers if isinstance(answers, dict) else {}


def _about(question: str, path: Path) -> bool:
    return question.startswith(f"{path} ")


def _ask(path: Path, wanted: OnPath) -> str | None:
    try:
        answer = subprocess.run(
            [path, *wanted.arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(wanted.pattern, answer.stdout)
    return found[1] if found else None
