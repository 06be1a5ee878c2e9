"""A client with the access of the person who runs a command: their own kubeconfig."""

import os
from pathlib import Path

from lightkube import Client

from kube.client import NOT_READABLE, KubeError, connected, reason
from kube.kinds import KubeConfig


def users_client(*, timeout_s: float = 30.0) -> Client:
    """Return a client of the current context of $KUBECONFIG, or of ~/.kube/config without it.

    The stack's kubeconfig stays where it is: a person acts in their own name, which the cluster's
    audit log then has. Raises KubeError where there is no such file.
    """
    named = os.environ.get("KUBECONFIG", "")
    path = Path(named or "~/.kube/config").expanduser()
    if os.pathsep in named:
        raise KubeError(f"KUBECONFIG names several files ({named}): set it to one of them.")
    if not path.is_file():
        raise KubeError(
            f"{path} is not there: set KUBECONFIG to the kubeconfig with which you may change "
            "BareMetalHosts and Nodes."
        )
    try:
        return connected(KubeConfig.from_file(path), timeout_s)
    except NOT_READABLE as error:
        raise KubeError(
            f"{path} cannot be read ({reason(error)}): set KUBECONFIG to another."
        ) from None
