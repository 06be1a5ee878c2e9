"""Packs fleet-node-check into one file."""

from workloads.archive import archive

FILE = "fleet-node-check.pyz"
INTERVAL_S = 300


def program() -> bytes:
    """Returns a zipapp of this package and of what it uses of the project."""
    return archive("workloads.node_check", also=("hardware.cpuset", "workloads.api_server"))
