"""A rehearsal that was kept up, and what is there of it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from rehearsal.api import Api
    from tests.rehearsal.conftest import Checkout


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The kept rehearsal."""

    checkout: Checkout
    report: dict[str, Any]
    stderr: str
    api: Api

    @property
    def directory(self) -> Path:
        return self.checkout.workspace().directory.resolve()

    def nodes(self) -> dict[str, dict[str, Any]]:
        return {node["metadata"]["name"]: node for node in self.api.items("/api/v1/nodes")}

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command as the hint of `--keep` says, from the checkout."""
        return subprocess.run(
            ["bash", "-c", f"source .rehearsal/dev/env.sh && {command}"],  # noqa: S607  # the user's
            cwd=self.checkout.root,
            check=False,
            capture_output=True,
            text=True,
        )
