"""The ports of 127.0.0.1 on which the controllers of a Release serve."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rehearsal.control_plane import free_port


def chosen_ports(record: Path, uses: Sequence[str]) -> Mapping[str, int]:
    """Choose ports that are free at this moment, by use, once: `record` has them afterwards."""
    if not record.exists():
        record.write_text(json.dumps({use: free_port() for use in uses}))
    ports: Mapping[str, int] = json.loads(record.read_text(encoding="utf-8"))
    return ports
