"""Packs the probe into one file."""

from workloads.archive import archive

FILE = "fleet-numa-probe.pyz"


def program() -> bytes:
    """Returns the zipapp."""
    return archive("workloads.acceptance.numa", also=("hardware.cpuset", "workloads.bind.memory"))
