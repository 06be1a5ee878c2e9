"""Packs fleet-bind into one file: python -m workloads.bind.program > fleet-bind.pyz"""

import sys

from workloads.archive import archive


def program() -> bytes:
    """Returns the zipapp."""
    return archive("workloads.bind", also=("hardware.cpuset",))


if __name__ == "__main__":
    sys.stdout.buffer.write(program())
