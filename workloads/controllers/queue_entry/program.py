"""Packs fleet-queue-entry into one file."""

from workloads.archive import archive

FILE = "fleet-queue-entry.pyz"


def program() -> bytes:
    """Return a zipapp of this package and of what it uses."""
    also = ("workloads.api_server", "workloads.controllers.gang_buffer.shape")
    return archive("workloads.controllers.queue_entry", also=also)
