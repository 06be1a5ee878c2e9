"""The probe as one file; not part of it."""

from workloads.archive import archive

FILE = "fleet-numa-probe.pyz"


def program() -> bytes:
    """The zipapp."""
    return archive("workloads.acceptance.numa", also=("hardware.cpuset", "workloads.bind.memory"))
