"""The log of calls, `calls.jsonl`: each call of the engine to a simulated provider.

It holds no property values: it shows that a server was created, but not its inputs.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from rehearsal.providers.contract import Resource


class CallLog:
    """Appends one JSON line for each call; lines of parallel calls never mix."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(
            directory / "calls.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
        )

    def write(
        self,
        provider: str,
        method: str,
        resource: Resource,
        *,
        preview: bool | None,
        error: str | None = None,
    ) -> None:
        """Logs a call that has ended.

        `preview` is None where the engine does not say (Check, Diff, Read); `error` is a word or
        two on why the call was refused.
        """
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "provider": provider,
            "method": method,
            "urn": resource.urn,
            "type": resource.type,
            "preview": preview,
        }
        if error is not None:
            line["error"] = error
        # One write of an O_APPEND file is never interleaved with another.
        os.write(self._descriptor, (json.dumps(line) + "\n").encode())
