"""Packs fleet-gang-buffer into one file."""

from workloads.archive import archive

FILE = "fleet-gang-buffer.pyz"
SETTINGS = "gang-buffer.json"


def program() -> bytes:
    """Return a zipapp of this package and of what it uses."""
    also = ("workloads.api_server", "workloads.controllers.pool_domains.domain")
    return archive("workloads.controllers.gang_buffer", also=also)
