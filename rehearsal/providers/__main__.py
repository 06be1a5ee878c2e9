"""`python -m rehearsal.providers --directory .rehearsal/dev --crds .toolchain/crds`

Prints the ports as one JSON line when the four stand-ins are ready; ends on SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from rehearsal.providers.serving import served


def main() -> None:
    """Serves until SIGTERM."""
    arguments = _arguments()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    # Ctrl-C reaches the whole terminal; the engine must still be able to finish what runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    arguments.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with served(arguments.directory, arguments.crds) as ports:
        sys.stdout.write(json.dumps(ports) + "\n")
        sys.stdout.flush()
        ended.wait()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rehearsal.providers", description=__doc__)
    parser.add_argument(
        "--directory", type=Path, required=True, help="where calls.jsonl and cloud.json are written"
    )
    parser.add_argument(
        "--crds", type=Path, required=True, help="CustomResourceDefinitions, one folder a system"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
