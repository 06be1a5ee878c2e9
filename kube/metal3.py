"""The BareMetalHosts of Metal3, as the API server has them."""

from typing import Any

from lightkube import Client
from lightkube.core.exceptions import ApiError

from kube.kinds import BareMetalHost, GenericNamespacedResource
from kube.nodes import NOT_FOUND

DETACHED = "baremetalhost.metal3.io/detached"
"""The annotation by which Metal3 lets a host go untouched, and its deletion, too."""
REINSTALL_LEASE = "fleet-reinstall"
"""The Lease in a pool's namespace that `fleet reinstall` holds while it works on the pool."""


def find(client: Client, namespace: str, name: str) -> GenericNamespacedResource | None:
    """Return the host; None where there is none of that name."""
    try:
        return client.get(BareMetalHost, name, namespace=namespace)
    except ApiError as error:
        if error.status.code == NOT_FOUND:
            return None
        raise


def is_there(client: Client, namespace: str, name: str) -> bool:
    """Return whether there is such a host that nobody has deleted."""
    host = find(client, namespace, name)
    return host is not None and not (host.metadata and host.metadata.deletionTimestamp)


def annotations(host: GenericNamespacedResource) -> dict[str, str]:
    """Return the annotations of a host."""
    return dict((host.metadata.annotations if host.metadata else None) or {})


def state(host: GenericNamespacedResource) -> str:
    """Return the provisioning state of a host, such as provisioned; empty for a new one."""
    provisioning: dict[str, Any] = (host.get("status") or {}).get("provisioning") or {}
    return str(provisioning.get("state") or "")
