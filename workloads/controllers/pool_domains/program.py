"""Packs fleet-pool-domains into one file."""

from workloads.archive import archive

FILE = "fleet-pool-domains.pyz"


def program() -> bytes:
    """Return a zipapp of this package and of what it uses."""
    return archive("workloads.controllers.pool_domains", also=("workloads.api_server",))
