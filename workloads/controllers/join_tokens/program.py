"""Packs fleet-join-tokens into one file."""

from workloads.archive import archive

FILE = "fleet-join-tokens.pyz"


def program() -> bytes:
    """Return a zipapp of this package and of what it uses."""
    return archive("workloads.controllers.join_tokens", also=("workloads.api_server",))
