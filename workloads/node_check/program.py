"""fleet-node-check as one file; not part of it."""

from workloads.archive import archive

FILE = "fleet-node-check.pyz"
INTERVAL_S = 300


def program() -> bytes:
    """The zipapp: this package and the reader of CPU lists that the whole project has."""
    return archive("workloads.node_check", also=("hardware.cpuset",))
