"""The real Butane and Ignition, asked through one process for all tests."""

import atexit
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from toolchain.build import ensure


class Reference:
    """Butane 0.24 and Ignition 2.24, strict: a warning is a refusal."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [program, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self._process.kill)

    def transpile(
        self, source: str, *, lax: bool = False, files_dir: Path | None = None
    ) -> dict[str, Any] | None:
        """The Ignition config of a Butane document, None where Butane refuses it.

        `lax` lets warnings pass; local files are read below `files_dir`.
        """
        question: dict[str, str | bool] = {
            "butane": source,
            "lax": lax,
            "files_dir": str(files_dir or ""),
        }
        config: dict[str, Any] | None = self._ask(question)["ignition"]
        return config

    def report(self, source: str) -> str:
        """What Butane says of a document, empty where it has nothing to say."""
        return str(self._ask({"butane": source})["report"])

    def validate(self, config: str) -> str:
        """What Ignition says of a config, empty where it is valid."""
        return str(self._ask({"ignition": config})["report"])

    def _ask(self, question: dict[str, str | bool]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@cache
def reference() -> Reference:
    """The one process."""
    return Reference(str(ensure(("butane-check",), console=None).path("butane-check")))
