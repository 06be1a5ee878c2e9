"""fleet-bind as one file; not part of it."""

from workloads.archive import archive

FILE = "fleet-bind.pyz"


def program() -> bytes:
    """The zipapp."""
    return archive("workloads.bind", also=("hardware.cpuset",))
