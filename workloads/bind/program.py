"""fleet-bind as one file, on standard output: python -m workloads.bind.program > fleet-bind.pyz"""

import sys

from workloads.archive import archive


def program() -> bytes:
    """The zipapp."""
    return archive("workloads.bind", also=("hardware.cpuset",))


if __name__ == "__main__":
    sys.stdout.buffer.write(program())
